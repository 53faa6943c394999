// A pass through the layers of an encoder or a decoder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/decode/kv_cache.h"
#include "headwise/steps/tokens.h"
#include "headwise/transformer/model_pass.h"
#include "headwise/version.h"
#include "transformer/description.h"
#include "transformer/params.h"

namespace headwise::inline HEADWISE_ABI::transformer {

// What an encoder gave, sequence after sequence.
struct Encoded {
  Rows rows;
  std::vector<std::int64_t> offsets;
};

struct CachedSequence;

// The sequences of a pass over the next tokens, in the caches of the layers.
struct CachedPass {
  std::vector<std::optional<KvCache>>& layers;
  std::vector<CachedSequence*> sequences;
};

struct StackInput {
  const RaggedTokens& ids;
  const ModelPass& pass;
  // Of an encoder-decoder's decoder, without a cache; null: none.
  const Encoded* encoded = nullptr;
  const CachedPass* cached = nullptr;  // null: none
  // This is the encoder of an encoder-decoder: of the pass, only hooks and
  // see_attn_weights concern it.
  bool is_encoder = false;
};

// (1, rows, hidden_size), after the last norm, or what enters the layer where
// the pass ends. Errors: those of the pass; out_of_memory.
Result<Rows> run_stack(const StackSpec& stack, const StackParams& params,
                       const StackInput& input);

}  // namespace headwise::inline HEADWISE_ABI::transformer
