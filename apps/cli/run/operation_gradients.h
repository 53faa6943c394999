// The gradients of a call of the operation: of its tensors, in their type, and
// of the options that have one.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "headwise/attention/backward.h"
#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "operands.h"
#include "run_gradients.h"

namespace headwise::cli {

template <class T>
struct OperationGradients {
  Operands<T, 4> operands;  // in the layout of the files
  BiasGradient bias;
  // Without elements: the call does not have it.
  Tensor<float, 2> t5_bias;
  Tensor<float, 1> alibi;
  Tensor<float, 2> score_weight;
  Tensor<float, 1> sinks;
  Tensor<float, 2> bias_k;  // of the added keys
  Tensor<float, 2> bias_v;

  // Zeros. Errors: out_of_memory.
  static Result<OperationGradients> create(
      const Operands<T, 4>& in, const AttentionOptions& options,
      const OperationOptions& operation_options) {
    OperationGradients made;
    const auto make = [](auto& gradient, const auto& of) -> Status {
      HEADWISE_ASSIGN(
          gradient,
          std::remove_reference_t<decltype(gradient)>::create(of.extents()));
      return ok();
    };
    HEADWISE_TRY(make(made.operands.query, in.query));
    HEADWISE_TRY(make(made.operands.key, in.key));
    HEADWISE_TRY(make(made.operands.value, in.value));
    HEADWISE_ASSIGN(made.bias, make_bias_gradient(options.bias));
    HEADWISE_TRY(make(made.t5_bias, options.t5_bias.table));
    HEADWISE_TRY(make(made.alibi, options.alibi));
    HEADWISE_TRY(make(made.score_weight, operation_options.score_weight));
    HEADWISE_TRY(make(made.sinks, options.sinks));
    HEADWISE_TRY(make(made.bias_k, operation_options.added_keys.bias_k));
    HEADWISE_TRY(make(made.bias_v, operation_options.added_keys.bias_v));
    return made;
  }

  AttentionGradientsOf<T> views(bool heads_first) {
    return {.query = as_extents(operands.query.view(), heads_first),
            .key = as_extents(operands.key.view(), heads_first),
            .value = as_extents(operands.value.view(), heads_first),
            .bias = bias.by_scores,
            .t5_bias = view_of_any(t5_bias),
            .alibi = view_of_any(alibi),
            .score_weight = view_of_any(score_weight),
            .sinks = view_of_any(sinks),
            .bias_k = view_of_any(bias_k),
            .bias_v = view_of_any(bias_v)};
  }

  // Those of the options, by name.
  void name_options(std::vector<NamedGradient>& gradients) && {
    if (!bias.shape.empty()) {
      gradients.push_back(
          {"d_bias", std::move(bias.shape), std::move(bias.elements)});
    }
    const auto add = [&](const char* name, auto& gradient) {
      if (gradient.size() != 0) {
        gradients.push_back(named(name, std::move(gradient), true));
      }
    };
    add("d_t5_bias", t5_bias);
    add("d_alibi", alibi);
    add("d_sinks", sinks);
    add("d_score_weight", score_weight);
    add("d_bias_k", bias_k);
    add("d_bias_v", bias_v);
  }

 private:
  template <std::size_t Rank>
  static TensorView<float, Rank> view_of_any(Tensor<float, Rank>& tensor) {
    return tensor.size() != 0 ? tensor.view() : TensorView<float, Rank>();
  }
};

}  // namespace headwise::cli
