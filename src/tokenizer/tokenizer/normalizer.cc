#include "tokenizer/normalizer.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "interop/error_text.h"
#include "patterns/pattern.h"
#include "tokenizer/shared_keys.h"
#include "unicode/byte_alphabet.h"
#include "unicode/character_class.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

Result<NormalizerStep> read_strip_normalizer(const JsonPart& part) {
  bool left = false;
  bool right = false;
  HEADWISE_TRY(part.require("strip_left", left));
  HEADWISE_TRY(part.require("strip_right", right));
  return NormalizerStep([left, right](TextEdit& edit) {
    const auto is_space = [](Character c) { return is_white_space(c.code); };
    const std::string_view text = edit.text();
    std::string_view kept = text;
    while (left && !kept.empty() && is_space(first_character(kept))) {
      kept.remove_prefix(first_character(kept).bytes);
    }
    const std::size_t begin = text.size() - kept.size();
    while (right && !kept.empty() && is_space(last_character(kept))) {
      kept.remove_suffix(last_character(kept).bytes);
    }
    const std::size_t end = begin + kept.size();
    if (begin > 0) {
      edit.drop(0, begin);
    }
    if (end < text.size()) {
      edit.drop(end, text.size());
    }
    return ok();
  });
}

Result<NormalizerStep> read_prepend_normalizer(const JsonPart& part) {
  std::string prefix;
  HEADWISE_TRY(part.require("prepend", prefix));
  return NormalizerStep([prefix](TextEdit& edit) {
    const std::string_view text = edit.text();
    if (!text.empty()) {
      const std::size_t first = first_character(text).bytes;
      const std::uint32_t begin = edit.source().begin();
      // An empty prefix takes the place of the first character all the same.
      const Span from =
          prefix.empty() ? Span{begin, begin} : edit.source().from(0, first);
      edit.drop(0, first);
      edit.put(prefix, from);
      edit.put(text.substr(0, first), from);
    }
    return ok();
  });
}

struct ReplaceNormalizer {
  std::shared_ptr<const Pattern> pattern;
  std::string content;

  Status operator()(TextEdit& edit) const {
    std::vector<Match> matches;
    if (!edit.text().empty()) {
      HEADWISE_TRY(pattern->find(edit.text(), matches));
    }
    const AlignedText& source = edit.source();
    for (const Match& match : matches) {
      edit.drop(match.begin, match.end);
      // From the last byte before the end of the match, even if it is empty.
      edit.put(content, match.end == 0 ? Span{source.begin(), source.begin()}
                                       : source.from(match.end - 1, match.end));
    }
    return ok();
  }
};

Result<NormalizerStep> read_replace_normalizer(const JsonPart& part) {
  HEADWISE_ASSIGN(Pattern pattern, read_pattern(part));
  std::string content;
  HEADWISE_TRY(part.require("content", content));
  return NormalizerStep(ReplaceNormalizer{
      std::make_shared<const Pattern>(std::move(pattern)), std::move(content)});
}

Status put_byte_level(TextEdit& edit) {
  for (std::size_t at = 0; at < edit.text().size(); ++at) {
    const auto byte = static_cast<unsigned char>(edit.text()[at]);
    if (const char32_t code = byte_character(byte);
        code != byte || code >= 0x80) {
      const Span from = edit.source().from(at, at + 1);
      edit.drop(at, at + 1);
      edit.put(code, from);
    }
  }
  return ok();
}

Status strip_accents(TextEdit& edit) {
  for_each_character(edit.text(),
                     [&](char32_t code, std::size_t begin, std::size_t end) {
                       if (is_accent(code)) {
                         edit.drop(begin, end);
                       }
                     });
  return ok();
}

// The rules of SentencePiece's nmt_nfkc that are not Unicode's.
Status put_nmt(TextEdit& edit) {
  for_each_character(edit.text(), [&](char32_t code, std::size_t begin,
                                      std::size_t end) {
    const auto is_between = [&](char32_t first, char32_t last) {
      return code >= first && code <= last;
    };
    const bool is_space = is_between(0x09, 0x0A) || is_between(0x0C, 0x0D) ||
                          code == 0x1680 || is_between(0x200B, 0x200F) ||
                          code == 0x2028 || code == 0x2029 || code == 0x2581 ||
                          code == 0xFEFF || code == 0xFFFD;
    if (is_space) {
      edit.drop(begin, end);
      edit.put(U' ', edit.source().from(begin, end));
    } else if (is_between(0x01, 0x1F) || code == 0x7F || code == 0x8F ||
               code == 0x9F) {
      edit.drop(begin, end);
    }
  });
  return ok();
}

template <Status (*step)(TextEdit&)>
Result<NormalizerStep> without_keys(const JsonPart&) {
  return NormalizerStep(step);
}

template <NormalForm form>
Status put_form(TextEdit& edit) {
  return put_normal_form(form, edit);
}

struct NormalizerType {
  std::string_view name;
  // Old files have no "type": the key that tells this one.
  std::string_view key;
  Result<NormalizerStep> (*read)(const JsonPart& part);  // null: a Sequence
};

constexpr std::array kNormalizerTypes = {
    NormalizerType{"BertNormalizer", "clean_text", read_bert_normalizer},
    NormalizerType{"NFC", {}, without_keys<put_form<NormalForm::nfc>>},
    NormalizerType{"NFD", {}, without_keys<put_form<NormalForm::nfd>>},
    NormalizerType{"NFKC", {}, without_keys<put_form<NormalForm::nfkc>>},
    NormalizerType{"NFKD", {}, without_keys<put_form<NormalForm::nfkd>>},
    NormalizerType{"Nmt", {}, without_keys<put_nmt>},
    NormalizerType{"Lowercase", {}, without_keys<put_lower_case>},
    NormalizerType{"Strip", "strip_left", read_strip_normalizer},
    NormalizerType{"StripAccents", {}, without_keys<strip_accents>},
    NormalizerType{"Prepend", "prepend", read_prepend_normalizer},
    NormalizerType{"Replace", "pattern", read_replace_normalizer},
    NormalizerType{"Precompiled", {}, read_precompiled_normalizer},
    NormalizerType{"SentencePiece", {}, read_sentencepiece_normalizer},
    NormalizerType{"ByteLevel", {}, without_keys<put_byte_level>},
    NormalizerType{"Sequence", "normalizers", nullptr}};

Result<const NormalizerType*> type_of(const JsonPart& part) {
  std::optional<std::string> name;
  HEADWISE_TRY(part.get("type", name));
  for (const NormalizerType& type : kNormalizerTypes) {
    if (name ? type.name == *name
             : !type.key.empty() && part.at(type.key).exists()) {
      return &type;
    }
  }
  return name ? part.unexpected(
                    "type",
                    Message::verbatim(internal::list_text(
                        kNormalizerTypes, ", ", &NormalizerType::name)),
                    ErrorCode::unsupported)
              : part.missing("type");
}

}  // namespace

Result<bool> Normalizer::apply(const AlignedText& text,
                               AlignedText& result) const {
  AlignedText other;
  const AlignedText* current = &text;
  for (const NormalizerStep& step : steps_) {
    AlignedText& next = current == &result ? other : result;
    TextEdit edit(*current, next);
    HEADWISE_TRY(step(edit));
    if (edit.finish()) {
      current = &next;
    }
  }
  if (current == &other) {
    std::swap(result, other);
  }
  return current != &text;
}

Result<std::unique_ptr<Normalizer>> read_normalizer(const JsonPart& part) {
  if (!part.exists()) {
    return std::unique_ptr<Normalizer>();
  }
  std::vector<NormalizerStep> steps;
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
  return std::make_unique<Normalizer>(std::move(steps));
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
