// The tensors and options of a random call.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/attention_call.h"
#include "attention/backward_call.h"
#include "attention/random_call.h"
#include "attention/random_rotation.h"
#include "headwise/attention/spec.h"

namespace headwise::testing_support {

enum class Layout { in_order, heads_first, with_gaps, backwards };

// (B, L, H, D) elements of T, float or 16 bits, in one of several layouts.
template <class T>
class StridedTensor {
 public:
  // What stands in the gaps: an input's are not read, an output's not written.
  static constexpr float kGap = 30000;

  // The elements of `from`, rounded to T.
  StridedTensor(const Tensor<float, 4>& from, Layout layout);

  TensorView<T, 4> view() const { return view_; }
  Tensor<float, 4> copy() const;
  bool gaps_untouched() const;

 private:
  std::vector<T> memory_;
  std::size_t gap_;
  TensorView<T, 4> view_;
};

// Each element to the nearest number of that type.
Tensor<float, 4> rounded_to(DType dtype, const Tensor<float, 4>& x);

// The keys of each sequence that a part of a call has.
struct KeyRange {
  std::size_t first;
  std::size_t count;
};

class RandomCallTensors {
 public:
  explicit RandomCallTensors(const RandomCall& call);
  // Of a part of the keys: tensors, masks, biases and positions are the part's.
  RandomCallTensors(const RandomCallTensors& whole,
                    const std::vector<KeyRange>& keys, std::size_t threads);

  // The number of keys of each sequence.
  std::vector<std::size_t> keys() const;
  // The sizes of the tensors, as AttentionSpec::create takes them.
  const AttentionShape& tensors() const { return tensors_; }
  const Inputs<float>& inputs() const { return inputs_; }
  // The inputs in binary64, rotated there where the call rotates.
  Inputs<double> exact_inputs() const {
    return rotation_.rotates() ? rotation_.exact() : widened(inputs_);
  }
  // |x - exact| of queries and keys over 2^-24 |x|.
  double input_error() const {
    return rotation_.rotates() ? RandomRotation::kError : 0;
  }
  // Views of this object's tensors and executor.
  AttentionOptions options() const;
  OperationOptions operation_options() const;
  // The call itself, on float tensors with the inputs and the output in the
  // call's layouts. `gaps_untouched` becomes whether the output's gaps are as
  // they were.
  Result<Outputs<float>> attend(bool& gaps_untouched) const {
    return attend_in(DType::float32, gaps_untouched);
  }
  // The same for the backward pass behind it, with the gradients by what is
  // rotated.
  Result<Gradients<float>> differentiate(const Upstream<float>& upstream,
                                         bool& gaps_untouched) const {
    auto gradients = differentiate_in(DType::float32, DType::float32, upstream,
                                      gaps_untouched);
    if (gradients) {
      rotation_.rotate_back(*gradients);
    }
    return gradients;
  }
  // The exact gradients by exact_inputs() and their bound become those by what
  // is rotated.
  void rotate_back(Gradients<double>& exact, Gradients<double>& bound) const {
    rotation_.rotate_back_exactly(exact, bound);
  }
  // The same on tensors of another type; the result is widened.
  Result<Outputs<float>> attend_in(DType dtype, bool& gaps_untouched) const;
  // The same for a part of the keys; only the last one has outputs.
  Result<Outputs<float>> attend_part(DType dtype, KeyPart part,
                                     const AttentionState& state,
                                     bool& gaps_untouched) const;
  // The backward pass takes the output rounded to `output_dtype`.
  Result<Gradients<float>> differentiate_in(DType dtype, DType output_dtype,
                                            const Upstream<float>& upstream,
                                            bool& gaps_untouched) const;

  // Results for tensors of T, every element 42.
  template <class T>
  Outputs<T> outputs(AttnWeights form,
                     ScoresStage stage = ScoresStage::none) const {
    const std::size_t heads = form == AttnWeights::none   ? 0
                              : form == AttnWeights::mean ? 1
                                                          : padded_.Hq;
    const AttentionShape& t = tensors_;
    const std::size_t columns =
        padded_.Lkv + count_of(operation_options().added_keys);
    return {
        filled<T, 4>({t.B, t.Lq, t.Hq, t.Dv}, T{42}),
        filled<T, 4>({padded_.B, heads, padded_.Lq, columns}, T{42}),
        filled<T, 3>({t.B, t.Hq, t.Lq}, T{42}),
        filled<T, 4>({padded_.B, stage == ScoresStage::none ? 0 : padded_.Hq,
                      padded_.Lq, columns},
                     T{42})};
  }

 private:
  void cut_into_sequences();
  void draw_masks();
  void draw_documents();
  Mask mask() const;
  Bias bias() const;
  T5Bias t5_bias() const;
  Layout layout(std::size_t turn) const;
  template <class T>
  Result<Outputs<float>> attend_as(KeyPart part, const AttentionState& state,
                                   bool& gaps_untouched) const;
  template <class T>
  Result<Gradients<float>> differentiate_as(DType output_dtype,
                                            const Upstream<float>& upstream,
                                            bool& gaps_untouched) const;
  // Uniform in [low, high], another sequence for each `part` < 32.
  std::vector<std::int64_t> integers(std::size_t count, std::uint32_t part,
                                     std::int64_t low, std::int64_t high) const;

  RandomCall call_;
  AttentionShape padded_;  // of the sequences
  AttentionShape tensors_;
  Inputs<float> inputs_;
  RandomRotation rotation_;
  Executor executor_;
  Tensor<std::int64_t, 1> query_offsets_;
  Tensor<std::int64_t, 1> key_offsets_;
  HeadGroups kv_groups_;
  Tensor<std::int64_t, 1> lengths_;
  Tensor<std::int64_t, 2> row_lengths_;
  Tensor<std::int64_t, 1> starts_;
  Tensor<std::int64_t, 1> query_starts_;
  Tensor<bool, 2> padding_;
  Tensor<bool, 4> dense_;  // (1 or B, H, Lq, Lkv)
  Tensor<std::int64_t, 2> query_ids_;
  Tensor<std::int64_t, 2> key_ids_;
  Tensor<float, 4> bias_;
  Tensor<float, 2> t5_table_;
  Tensor<float, 1> slopes_;
  Tensor<float, 2> score_weight_;
  Tensor<float, 1> sinks_;
  Tensor<float, 2> bias_k_;
  Tensor<float, 2> bias_v_;
};

}  // namespace headwise::testing_support
