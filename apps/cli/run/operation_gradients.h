// The gradients of a call of the operation: of its tensors, in their type, and
// of the options that have one.
#pragma once

#include <cstddef>
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
    auto operands = operands_of(Tensor<T, 4>::create(in.query.extents()),
                                Tensor<T, 4>::create(in.key.extents()),
                                Tensor<T, 4>::create(in.value.extents()));
    HEADWISE_TRY(operands);
    auto bias = make_bias_gradient(options.bias);
    auto t5_bias = Tensor<float, 2>::create(options.t5_bias.table.extents());
    auto alibi = Tensor<float, 1>::create(options.alibi.extents());
    auto score_weight =
        Tensor<float, 2>::create(operation_options.score_weight.extents());
    auto sinks = Tensor<float, 1>::create(options.sinks.extents());
    const AddedKeys& added = operation_options.added_keys;
    auto bias_k = Tensor<float, 2>::create(added.bias_k.extents());
    auto bias_v = Tensor<float, 2>::create(added.bias_v.extents());
    HEADWISE_TRY(bias);
    HEADWISE_TRY(t5_bias);
    HEADWISE_TRY(alibi);
    HEADWISE_TRY(score_weight);
    HEADWISE_TRY(sinks);
    HEADWISE_TRY(bias_k);
    HEADWISE_TRY(bias_v);
    return OperationGradients{*std::move(operands),     *std::move(bias),
                              *std::move(t5_bias),      *std::move(alibi),
                              *std::move(score_weight), *std::move(sinks),
                              *std::move(bias_k),       *std::move(bias_v)};
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
