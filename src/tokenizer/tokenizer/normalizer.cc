#include "tokenizer/normalizer.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

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
    const std::string_view text = edit.text();
    const std::size_t begin = left ? leading_space(text) : 0;
    const std::size_t end =
        text.size() - (right ? trailing_space(text.substr(begin)) : 0);
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

using NormalizerType = PartType<Result<NormalizerStep>(const JsonPart&)>;

constexpr std::array kNormalizerTypes = {
    NormalizerType{"BertNormalizer", read_bert_normalizer, {"clean_text"}},
    NormalizerType{"NFC", without_keys<put_form<NormalForm::nfc>>},
    NormalizerType{"NFD", without_keys<put_form<NormalForm::nfd>>},
    NormalizerType{"NFKC", without_keys<put_form<NormalForm::nfkc>>},
    NormalizerType{"NFKD", without_keys<put_form<NormalForm::nfkd>>},
    NormalizerType{"Nmt", without_keys<put_nmt>},
    NormalizerType{"Lowercase", without_keys<put_lower_case>},
    NormalizerType{"Strip", read_strip_normalizer, {"strip_left"}},
    NormalizerType{"StripAccents", without_keys<strip_accents>},
    NormalizerType{"Prepend", read_prepend_normalizer, {"prepend"}},
    NormalizerType{"Replace", read_replace_normalizer, {"pattern"}},
    NormalizerType{"Precompiled", read_precompiled_normalizer},
    NormalizerType{"SentencePiece", read_sentencepiece_normalizer},
    NormalizerType{"ByteLevel", without_keys<put_byte_level>}};

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

Result<Normalizer> read_normalizer(const JsonPart& part) {
  if (!part.exists()) {
    return Normalizer();
  }
  HEADWISE_ASSIGN(const auto parts, sequence_parts(part, "normalizers", true));
  std::vector<NormalizerStep> steps;
  for (const JsonPart& one : parts) {
    HEADWISE_ASSIGN(const auto* const type, type_of(one, kNormalizerTypes));
    HEADWISE_ASSIGN(steps.emplace_back(), type->read(one));
  }
  return Normalizer(std::move(steps));
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
