// What a ModelCache holds of its sequences.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/decode/kv_cache.h"
#include "headwise/transformer/model_cache.h"
#include "headwise/transformer/transformer.h"
#include "headwise/version.h"
#include "transformer/params.h"
#include "transformer/stack_run.h"
#include "transformer/transformer_state.h"

namespace headwise::inline HEADWISE_ABI::transformer {

inline constexpr std::string_view kModelCache = "model_cache";

// The heads of what an encoder gave, as a layer's cross-attention compares and
// adds them up: (1, tokens, heads, head_dim).
struct CrossKeys {
  Tensor<float, 4> key;
  Tensor<float, 4> value;
};

struct CachedSequence {
  std::uint32_t generation = 0;
  bool in_use = false;
  std::size_t given = 0;           // tokens
  std::size_t expected = 0;        // the least length that decides on rotations
  std::vector<SequenceId> ids{};   // in the cache of each layer
  std::vector<CrossKeys> cross{};  // of each layer
  std::vector<std::vector<std::int64_t>> held{};  // of each layer; empty: all

  std::size_t held_in(std::size_t layer) const {
    return held.empty() ? given : held[layer].size();
  }
  void add(std::size_t tokens) {
    for (std::vector<std::int64_t>& of_layer : held) {
      for (std::size_t t = 0; t < tokens; ++t) {
        of_layer.push_back(static_cast<std::int64_t>(given + t));
      }
    }
    given += tokens;
  }
  std::size_t rotation_length(std::size_t added) const {
    return std::max(expected, given + added);
  }
};

// The heads of a projection, (1, rows, heads, head_dim).
Result<Tensor<float, 4>> projected_heads(const Linear& linear, const Rows& x,
                                         std::size_t heads,
                                         const Executor& executor);

}  // namespace headwise::inline HEADWISE_ABI::transformer

namespace headwise::inline HEADWISE_ABI {

struct ModelCache::State {
  const Transformer::State* model;
  ModelCacheOptions options;
  std::size_t page_size = 0;
  std::vector<std::optional<KvCache>> layers{};  // none: one without heads
  std::vector<transformer::CachedSequence> sequences{};

  // Errors: out_of_range.
  Result<transformer::CachedSequence*> find(SequenceId id);
  Result<SequenceId> add();
  void erase(transformer::CachedSequence& sequence);
  // For a pass over these tokens. Errors: those of find(); invalid_argument for
  // one twice and for other numbers of them; out_of_range for more tokens than
  // there is room or the model has positions for.
  Result<std::vector<transformer::CachedSequence*>> take(
      std::span<const SequenceId> ids, const RaggedTokens& tokens);
};

}  // namespace headwise::inline HEADWISE_ABI
