// Decoders that replace or drop parts of tokens.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "headwise/version.h"
#include "patterns/pattern.h"
#include "tokenizer/decoder_step.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// `text` is not empty.
std::unique_ptr<DecoderStep> replace_decoder(std::string text,
                                             std::string content);
std::unique_ptr<DecoderStep> replace_decoder(Pattern pattern,
                                             std::string content);

struct StripOptions {
  std::string content{};  // one character
  std::size_t start = 0;  // most of them that are dropped
  std::size_t stop = 0;
};
std::unique_ptr<DecoderStep> strip_decoder(StripOptions options);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
