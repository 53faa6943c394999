// The attention weights and scores of a ragged batch have the shape of a padded
// one.
#pragma once

#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
#include "headwise/steps/softmax.h"

namespace headwise::inline HEADWISE_ABI {

// Sets what belongs to no query or to no key of its sequence.
template <class T>
void fill_beyond_sequences(const AttentionShape& shape, T value,
                           TensorView<T, 4> pairs) {
  const auto [B, heads, Lq, columns] = pairs.extents();
  for (std::size_t b = 0; b < B; ++b) {
    const SequencePlace place = shape.sequence(b);
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t i = 0; i < Lq; ++i) {
        // Added keys stand behind those of the longest sequence.
        const std::size_t end = i < place.Lq ? shape.Lkv : columns;
        for (std::size_t j = i < place.Lq ? place.Lkv : 0; j < end; ++j) {
          pairs(b, h, i, j) = value;
        }
      }
    }
  }
}

// The same for what the options ask for. T: the element type of the sums.
template <class T>
void fill_beyond_sequences(const AttentionSpec& spec,
                           const CallTensors& tensors) {
  if (!spec.shape.offsets.ragged()) {
    return;
  }
  if (spec.attn_weights != AttnWeights::none) {
    fill_beyond_sequences<T>(spec.shape, 0,
                             tensors[CallTensor::attn_weights].view<T, 4>());
  }
  if (spec.scores != ScoresStage::none) {
    fill_beyond_sequences<T>(
        spec.shape,
        spec.scores == ScoresStage::bias ? static_cast<T>(kMinusInf) : 0,
        tensors[CallTensor::scores].view<T, 4>());
  }
}

}  // namespace headwise::inline HEADWISE_ABI
