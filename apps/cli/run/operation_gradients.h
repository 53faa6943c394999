// The gradients of a call of the operation: of its tensors, in their type, and
// of the options that have one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_arg.h"
#include "operands.h"
#include "run_gradients.h"

namespace headwise::cli {

template <class T>
struct OperationGradients {
  Operands<T, 4> operands;  // in the layout of the files
  BiasGradient bias;
  std::vector<std::pair<CallTensor, NamedGradient>> of_others;

  // Zeros. Errors: out_of_memory.
  static Result<OperationGradients> create(const Operands<T, 4>& in,
                                           const AttentionSpec& spec,
                                           const Bias& bias) {
    OperationGradients made;
    const auto make = [](Tensor<T, 4>& gradient, const Tensor<T, 4>& of) {
      auto zeros = Tensor<T, 4>::create(of.extents());
      return zeros ? (gradient = *std::move(zeros), ok())
                   : Status(zeros.error());
    };
    HEADWISE_TRY(make(made.operands.query, in.query));
    HEADWISE_TRY(make(made.operands.key, in.key));
    HEADWISE_TRY(make(made.operands.value, in.value));
    HEADWISE_ASSIGN(made.bias, make_bias_gradient(bias));
    for (const CallTensor tensor : kOptionGradients) {
      const TensorArg expected = expected_tensor(spec, tensor);
      if (tensor == CallTensor::d_bias || expected.rank() == 0) {
        continue;
      }
      HEADWISE_ASSIGN(auto elements,
                      Tensor<float, 1>::create({expected.size()}));
      made.of_others.emplace_back(
          tensor,
          NamedGradient{std::string(name_of(tensor)),
                        {expected.extents().begin(), expected.extents().end()},
                        std::move(elements)});
    }
    return made;
  }

  // The tensors that a backward call writes; those of options only if
  // `with_options`.
  void add_to(CallTensors& tensors, bool heads_first, bool with_options) {
    using enum CallTensor;
    tensors.set(d_query, as_extents(operands.query.view(), heads_first));
    tensors.set(d_key, as_extents(operands.key.view(), heads_first));
    tensors.set(d_value, as_extents(operands.value.view(), heads_first));
    if (!with_options) {
      return;
    }
    tensors.set(d_bias, this->bias.by_scores);
    for (auto& [tensor, gradient] : of_others) {
      tensors.set(tensor, TensorArg(gradient.elements.data(), DType::float32,
                                    gradient.shape));
    }
  }

  // Those of the options, by name.
  void name_options(std::vector<NamedGradient>& gradients) && {
    if (!bias.shape.empty()) {
      gradients.push_back(
          {"d_bias", std::move(bias.shape), std::move(bias.elements)});
    }
    for (auto& [tensor, gradient] : of_others) {
      if (gradient.elements.size() != 0) {
        gradients.push_back(std::move(gradient));
      }
    }
  }
};

}  // namespace headwise::cli
