// SentencePiece's pieces to text, without their bytes: ByteFallback comes next.
// Keys: unk_token and unk_surface, what it becomes; strip_space (true), whether
// the space in front of the text goes; strip_spaces (false), whether all go.
#pragma once

#include <memory>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "tokenizer/decoder_step.h"
#include "tokenizer/json_part.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

Result<std::unique_ptr<DecoderStep>> read_sentencepiece_step(
    const JsonPart& part);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
