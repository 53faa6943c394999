// A pass through the layers of an encoder or a decoder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/steps/tokens.h"
#include "headwise/transformer/transformer.h"
#include "headwise/version.h"
#include "transformer/description.h"
#include "transformer/params.h"

namespace headwise::inline HEADWISE_ABI::transformer {

// What an encoder gave, sequence after sequence.
struct Encoded {
  Rows rows;
  std::vector<std::int64_t> offsets;
};

struct StackInput {
  const RaggedTokens& ids;
  const TransformerPass& pass;
  // Of an encoder-decoder's decoder; null: none.
  const Encoded* encoded = nullptr;
  // This is the encoder of an encoder-decoder: only its weights are shown.
  bool is_encoder = false;
};

// (1, rows, hidden_size), after the last norm. Errors: those of the pass;
// out_of_memory.
Result<Rows> run_stack(const StackSpec& stack, const StackParams& params,
                       const StackInput& input);

std::vector<std::int64_t> sequence_offsets(const RaggedTokens& ids);

}  // namespace headwise::inline HEADWISE_ABI::transformer
