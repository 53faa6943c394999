// Vocabularies in text files of their own: BERT's vocab.txt, a token a line;
// GPT-2's vocab.json with merges.txt, or encoder.json with vocab.bpe.
#pragma once

#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "tokenizer/tokenizer_spec.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// `path` is that of the file, with settings in the same folder. Errors:
// bad_data; io_error; unsupported for a class of tokenizers in the settings.
Result<TokenizerSpec> parse_vocab_txt(std::string_view text,
                                      const std::string& path);
// Reads the merges from the same folder.
Result<TokenizerSpec> parse_vocab_json(std::string_view text,
                                       const std::string& path);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
