// Decoders whose tokens stand for bytes.
#pragma once

#include <memory>

#include "headwise/version.h"
#include "tokenizer/decoder_step.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// Tokens in GPT-2's alphabet of bytes.
std::unique_ptr<DecoderStep> byte_level_decoder();
// Tokens such as <0x0A>.
std::unique_ptr<DecoderStep> byte_fallback_decoder();

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
