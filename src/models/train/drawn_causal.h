// A model of type headwise-causal (families/causal.cc) with drawn parameters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/interop/npz.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

struct CausalSizes {
  std::size_t vocab_size = 0;
  std::size_t hidden_size = 0;
  std::size_t num_layers = 0;
  std::size_t num_heads = 0;  // a divisor of hidden_size
  std::size_t max_positions = 0;
};

// Its config.json.
std::string causal_config(const CausalSizes& sizes);

// Embeddings from N(0, 1), linear maps as PyTorch's nn.Linear, norms 1 and 0.
// Errors: out_of_memory.
Result<NamedArrays> draw_causal(const CausalSizes& sizes, Seed seed);

}  // namespace headwise::inline HEADWISE_ABI
