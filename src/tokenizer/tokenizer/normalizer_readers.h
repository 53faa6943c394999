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
MadeNormalizer read_nfc_normalizer(const JsonPart& part);
MadeNormalizer read_nfd_normalizer(const JsonPart& part);
MadeNormalizer read_nfkc_normalizer(const JsonPart& part);
MadeNormalizer read_nfkd_normalizer(const JsonPart& part);
MadeNormalizer read_nmt_normalizer(const JsonPart& part);
MadeNormalizer read_lowercase_normalizer(const JsonPart& part);
MadeNormalizer read_strip_accents_normalizer(const JsonPart& part);
MadeNormalizer read_strip_normalizer(const JsonPart& part);
MadeNormalizer read_prepend_normalizer(const JsonPart& part);
MadeNormalizer read_replace_normalizer(const JsonPart& part);
MadeNormalizer read_byte_level_normalizer(const JsonPart& part);
MadeNormalizer read_precompiled_normalizer(const JsonPart& part);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
