// The tensors of a call as the kernels take them, whatever its type
// (headwise/attention/tensors.h says what each is).
#pragma once

#include "attention/number_view.h"
#include "headwise/attention/tensors.h"

namespace headwise::inline HEADWISE_ABI {

struct CallInputs {
  template <class Inputs>  // those of a forward or a backward call
  explicit CallInputs(const Inputs& of)
      : query(of.query), key(of.key), value(of.value) {}

  NumberView<const void> query;
  NumberView<const void> key;
  NumberView<const void> value;
};

struct CallOutputs {
  template <class T>
  explicit CallOutputs(const AttentionOutputsOf<T>& of)
      : output(of.output),
        attn_weights(of.attn_weights),
        lse(of.lse),
        softmax_rows(of.softmax_rows),
        statistics(of.statistics),
        scores(of.scores),
        state(of.state) {}

  NumberView<void> output;
  TensorView<float, 4> attn_weights;
  TensorView<float, 3> lse;
  TensorView<float, 4> softmax_rows;
  StatisticsViews statistics;
  TensorView<float, 4> scores;
  AttentionState state;
};

struct BackwardCallInputs : CallInputs {
  template <class T>
  explicit BackwardCallInputs(const BackwardInputsOf<T>& of)
      : CallInputs(of),
        output(of.output),
        softmax_rows(of.softmax_rows),
        d_output(of.d_output),
        d_attn_weights(of.d_attn_weights) {}

  NumberView<const void> output;
  TensorView<const float, 4> softmax_rows;
  NumberView<const void> d_output;
  TensorView<const float, 4> d_attn_weights;
};

struct CallGradients {
  template <class T>
  explicit CallGradients(const AttentionGradientsOf<T>& of)
      : query(of.query),
        key(of.key),
        value(of.value),
        bias(of.bias),
        t5_bias(of.t5_bias),
        alibi(of.alibi),
        score_weight(of.score_weight),
        sinks(of.sinks),
        bias_k(of.bias_k),
        bias_v(of.bias_v),
        state(of.state) {}

  NumberView<void> query;
  NumberView<void> key;
  NumberView<void> value;
  TensorView<float, 4> bias;
  TensorView<float, 2> t5_bias;
  TensorView<float, 1> alibi;
  TensorView<float, 2> score_weight;
  TensorView<float, 1> sinks;
  TensorView<float, 2> bias_k;
  TensorView<float, 2> bias_v;
  GradientState state;
};

}  // namespace headwise::inline HEADWISE_ABI
