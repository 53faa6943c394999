#include "tokenizer/normalizer.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interop/error_text.h"
#include "tokenizer/normalizer_readers.h"
#include "tokenizer/sentencepiece_normalizer.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

struct NormalizerType {
  std::string_view name;
  // Old files have no "type": the key that tells this one.
  std::string_view key;
  MadeNormalizer (*read)(const JsonPart& part);  // null: a Sequence
};

constexpr std::array kNormalizerTypes = {
    NormalizerType{"BertNormalizer", "clean_text", read_bert_normalizer},
    NormalizerType{"NFC", {}, read_nfc_normalizer},
    NormalizerType{"NFD", {}, read_nfd_normalizer},
    NormalizerType{"NFKC", {}, read_nfkc_normalizer},
    NormalizerType{"NFKD", {}, read_nfkd_normalizer},
    NormalizerType{"Nmt", {}, read_nmt_normalizer},
    NormalizerType{"Lowercase", {}, read_lowercase_normalizer},
    NormalizerType{"Strip", "strip_left", read_strip_normalizer},
    NormalizerType{"StripAccents", {}, read_strip_accents_normalizer},
    NormalizerType{"Prepend", "prepend", read_prepend_normalizer},
    NormalizerType{"Replace", "pattern", read_replace_normalizer},
    NormalizerType{"Precompiled", {}, read_precompiled_normalizer},
    NormalizerType{"SentencePiece", {}, read_sentencepiece_normalizer},
    NormalizerType{"ByteLevel", {}, read_byte_level_normalizer},
    NormalizerType{"Sequence", "normalizers", nullptr}};

Result<const NormalizerType*> type_of(const JsonPart& part) {
  const auto* type =
      std::ranges::find_if(kNormalizerTypes, [&](const NormalizerType& known) {
        return !known.key.empty() && part.at(known.key).exists();
      });
  if (!part.at("type").exists() && type != kNormalizerTypes.end()) {
    return type;
  }
  HEADWISE_ASSIGN(const std::string name, part.type());
  type = std::ranges::find(kNormalizerTypes, name, &NormalizerType::name);
  if (type == kNormalizerTypes.end()) {
    return part.unexpected("type",
                           Message::verbatim(internal::list_text(
                               kNormalizerTypes, ", ", &NormalizerType::name)),
                           ErrorCode::unsupported);
  }
  return type;
}

class NormalizerSequence : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<std::unique_ptr<Normalizer>> steps)
      : steps_(std::move(steps)) {}

  Result<bool> apply(const AlignedText& text,
                     AlignedText& result) const override {
    AlignedText other;
    const AlignedText* current = &text;
    for (const auto& step : steps_) {
      AlignedText& next = current == &result ? other : result;
      HEADWISE_ASSIGN(const bool changed, step->apply(*current, next));
      if (changed) {
        current = &next;
      }
    }
    if (current == &other) {
      std::swap(result, other);
    }
    return current != &text;
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> steps_;
};

}  // namespace

Result<std::unique_ptr<Normalizer>> read_normalizer(const JsonPart& part) {
  if (!part.exists()) {
    return std::unique_ptr<Normalizer>();
  }
  std::vector<std::unique_ptr<Normalizer>> steps;
  // The last one is next. Sequences become what is in them, at any depth.
  std::vector<JsonPart> parts = {part};
  while (!parts.empty()) {
    const JsonPart next = std::move(parts.back());
    parts.pop_back();
    HEADWISE_ASSIGN(const NormalizerType* const type, type_of(next));
    if (type->read == nullptr) {
      HEADWISE_ASSIGN(const std::vector<JsonPart> members,
                      next.list("normalizers"));
      parts.insert(parts.end(), members.rbegin(), members.rend());
      continue;
    }
    HEADWISE_ASSIGN(steps.emplace_back(), type->read(next));
  }
  if (steps.size() == 1) {
    return std::move(steps.front());
  }
  return make_normalizer<NormalizerSequence>(std::move(steps));
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
