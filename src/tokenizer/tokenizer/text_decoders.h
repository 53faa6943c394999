// Decoders that change the texts of tokens.
#pragma once

#include <memory>
#include <string>

#include "headwise/version.h"
#include "tokenizer/decoder_step.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// All tokens become one.
std::unique_ptr<DecoderStep> fuse_decoder();
// `space` becomes a space; in the first token nothing, if it `drops_first`.
std::unique_ptr<DecoderStep> metaspace_decoder(std::string space,
                                               bool drops_first);
// Tokens without the prefix begin with a space.
std::unique_ptr<DecoderStep> wordpiece_decoder(std::string prefix,
                                               bool cleans_up);
// The suffix becomes a space; in the last token nothing.
std::unique_ptr<DecoderStep> bpe_decoder(std::string suffix);

struct CtcOptions {
  std::string pad{};
  std::string word_delimiter{};
  bool cleans_up = false;
};
// Equal neighbours become one token; the pad is dropped.
std::unique_ptr<DecoderStep> ctc_decoder(CtcOptions options);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
