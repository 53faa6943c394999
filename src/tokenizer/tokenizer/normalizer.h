// The first step of a text: normalizers change its characters.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "interop/json_part.h"
#include "tokenizer/aligned_text.h"
#include "unicode/character_traits.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// What one of the types of normalizers does to a text.
using NormalizerStep = std::function<Status(TextEdit& edit)>;

class Normalizer {
 public:
  explicit Normalizer(std::vector<NormalizerStep> steps = {})
      : steps_(std::move(steps)) {}

  // Writes the changed text to `result`. False if nothing changes; `result` is
  // then worth nothing. May be called by several threads at once. Errors: a
  // regular expression that reached its limits.
  Result<bool> apply(const AlignedText& text, AlignedText& result) const;

 private:
  std::vector<NormalizerStep> steps_;
};

// The normalizer of a tokenizer.json; without one nothing changes. Errors:
// bad_data; unsupported, with the type.
Result<Normalizer> read_normalizer(const JsonPart& part);

// Those of its types that have files of their own. Errors: bad_data.
Status put_normal_form(NormalForm form, TextEdit& edit);
Status put_lower_case(TextEdit& edit);
Result<NormalizerStep> read_bert_normalizer(const JsonPart& part);
Result<NormalizerStep> read_precompiled_normalizer(const JsonPart& part);
Result<NormalizerStep> read_sentencepiece_normalizer(const JsonPart& part);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
