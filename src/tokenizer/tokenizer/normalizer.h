// The first step of a text: normalizers change its characters.
#pragma once

#include <memory>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/json_part.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

class Normalizer {
 public:
  virtual ~Normalizer() = default;

  // Writes the changed text to `result`. False if nothing changes; `result` is
  // then worth nothing. May be called by several threads at once. Errors: a
  // regular expression that reached its limits.
  virtual Result<bool> apply(const AlignedText& text,
                             AlignedText& result) const = 0;
};

// The normalizer of a tokenizer.json; null if it has none. Errors: bad_data;
// unsupported, with the type.
Result<std::unique_ptr<Normalizer>> read_normalizer(const JsonPart& part);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
