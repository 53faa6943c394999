// A causal model small enough for differences in double.
#pragma once

#include "headwise/models/causal_model.h"
#include "headwise/models/vocabulary.h"
#include "models/small_model.h"

namespace headwise::testing_support {

inline constexpr CausalConfig kSmallCausal = {.vocab_size = 14,
                                              .hidden_size = 12,
                                              .num_layers = 2,
                                              .num_heads = 3,
                                              .max_positions = 7};

inline CausalModel small_causal_model(
    const CausalConfig& config = kSmallCausal) {
  return CausalModel::create(
             config, parse_vocabulary(kSmallVocabulary, "vocab.txt").value(),
             Seed{3})
      .value();
}

}  // namespace headwise::testing_support
