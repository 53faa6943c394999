// The readers of each type of normalizer. Errors: bad_data, about the part.
#pragma once

#include <memory>
#include <utility>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "tokenizer/json_part.h"
#include "tokenizer/normalizer.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

using MadeNormalizer = Result<std::unique_ptr<Normalizer>>;

template <class Type, class... Arguments>
MadeNormalizer make_normalizer(Arguments&&... arguments) {
  return std::unique_ptr<Normalizer>(
      std::make_unique<Type>(std::forward<Arguments>(arguments)...));
}

MadeNormalizer read_bert_normalizer(const JsonPart& part);
MadeNormalizer read_nfc(const JsonPart& part);
MadeNormalizer read_nfd(const JsonPart& part);
MadeNormalizer read_nfkc(const JsonPart& part);
MadeNormalizer read_nfkd(const JsonPart& part);
MadeNormalizer read_nmt(const JsonPart& part);
MadeNormalizer read_lowercase(const JsonPart& part);
MadeNormalizer read_strip_accents(const JsonPart& part);
MadeNormalizer read_strip(const JsonPart& part);
MadeNormalizer read_prepend(const JsonPart& part);
MadeNormalizer read_replace(const JsonPart& part);
MadeNormalizer read_byte_level_normalizer(const JsonPart& part);
MadeNormalizer read_precompiled(const JsonPart& part);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
