// What SentencePiece does to a text before it looks for pieces: the longest
// texts of its table are replaced, from left to right, white space becomes
// U+2581, one is added in front, and repeated ones are removed.
//
// No tokenizer.json has it; files of SentencePiece are read to it. Keys:
//   precompiled_charsmap (null), in base64; add_dummy_prefix,
//   remove_extra_whitespaces, escape_whitespaces (true);
//   treat_whitespace_as_suffix (false): the prefix becomes a suffix;
//   user_defined_symbols ([]), which stay as they are
#pragma once

#include <memory>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "tokenizer/json_part.h"
#include "tokenizer/normalizer.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

Result<std::unique_ptr<Normalizer>> read_sentencepiece_normalizer(
    const JsonPart& part);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
