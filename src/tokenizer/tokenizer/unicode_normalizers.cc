// NFC, NFD, NFKC, NFKD, Nmt, Lowercase and StripAccents.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/normalizer_readers.h"
#include "tokenizer/text_edit.h"
#include "unicode/character_class.h"
#include "unicode/normal_forms.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// A character that the form may change, with what it may compose with or
// change places with.
struct Stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::u32string codes{};
};

class NormalFormNormalizer : public Normalizer {
 public:
  explicit NormalFormNormalizer(NormalForm form) : form_(form) {}

  Result<bool> apply(const AlignedText& text,
                     AlignedText& result) const override {
    const std::string_view bytes = text.text();
    std::size_t copied = 0;
    bool changed = false;
    std::vector<NormalPiece> normal;
    Stretch stretch;
    while (next_stretch(bytes, stretch)) {
      normalize(form_, stretch.codes, normal);
      if (is_same(stretch.codes, normal)) {
        continue;
      }
      if (!changed) {
        result.start(text);
        changed = true;
      }
      result.append(text, copied, stretch.begin);
      Transform transform(text, stretch.begin, stretch.end, result);
      for (const NormalPiece& piece : normal) {
        transform.put(piece.code, piece.change);
      }
      copied = stretch.end;
    }
    if (changed) {
      result.append(text, copied, bytes.size());
    }
    return changed;
  }

 private:
  // Finds the next one behind `stretch`; false if there is none.
  bool next_stretch(std::string_view text, Stretch& stretch) const {
    std::size_t at = stretch.end;
    Character before;
    Character next;
    for (; at < text.size(); at += next.bytes, before = next) {
      next = first_character(text.substr(at));
      if (next.code >= 0x80 && !is_kept(form_, next.code)) {
        break;
      }
    }
    if (at >= text.size()) {
      return false;
    }
    stretch.codes.clear();
    if (before.bytes > 0) {
      stretch.codes += before.code;
    }
    stretch.begin = at - before.bytes;
    for (; at < text.size(); at += next.bytes) {
      next = first_character(text.substr(at));
      if (next.code < 0x80 || is_kept(form_, next.code)) {
        break;
      }
      stretch.codes += next.code;
    }
    stretch.end = at;
    return true;
  }

  static bool is_same(std::u32string_view codes,
                      const std::vector<NormalPiece>& normal) {
    return std::ranges::equal(codes, normal, {}, {}, &NormalPiece::code);
  }

  NormalForm form_;
};

// What becomes of a character: itself, another one, or nothing.
using CharacterChange = std::optional<char32_t> (*)(char32_t code);

template <CharacterChange change>
class CharacterNormalizer : public Normalizer {
 public:
  Result<bool> apply(const AlignedText& text,
                     AlignedText& result) const override {
    const std::string_view bytes = text.text();
    TextEdit edit(text, result);
    for (std::size_t at = 0; at < bytes.size();) {
      const Character character = first_character(bytes.substr(at));
      const std::optional<char32_t> changed = change(character.code);
      if (!changed) {
        edit.drop(at, at + character.bytes);
      } else if (*changed != character.code) {
        edit.replace(at, at + character.bytes, *changed);
      }
      at += character.bytes;
    }
    return edit.finish();
  }
};

std::optional<char32_t> without_accent(char32_t code) {
  return is_accent(code) ? std::nullopt : std::optional(code);
}

// The rules of SentencePiece's nmt_nfkc that are not Unicode's.
std::optional<char32_t> nmt_character(char32_t code) {
  const auto is_between = [&](char32_t first, char32_t last) {
    return code >= first && code <= last;
  };
  if (is_between(0x01, 0x08) || code == 0x0B || is_between(0x0E, 0x1F) ||
      code == 0x7F || code == 0x8F || code == 0x9F) {
    return {};
  }
  const bool is_space = is_between(0x09, 0x0D) || code == 0x1680 ||
                        is_between(0x200B, 0x200F) || code == 0x2028 ||
                        code == 0x2029 || code == 0x2581 || code == 0xFEFF ||
                        code == 0xFFFD;
  return is_space ? U' ' : code;
}

// Most of most texts, for which lower_case() need not be asked.
bool is_kept_ascii(char32_t code) {
  return code < 0x80 && (code < U'A' || code > U'Z');
}

class LowercaseNormalizer : public Normalizer {
 public:
  Result<bool> apply(const AlignedText& text,
                     AlignedText& result) const override {
    const std::string_view bytes = text.text();
    TextEdit edit(text, result);
    for (std::size_t at = 0; at < bytes.size();) {
      const Character character = first_character(bytes.substr(at));
      const std::size_t end = at + character.bytes;
      if (is_kept_ascii(character.code)) {
        at = end;
        continue;
      }
      const LowerCase lower = lower_case(character.code);
      if (lower.first != character.code) {
        edit.replace(at, end, lower.first);
      }
      if (lower.second != 0) {
        edit.put(lower.second, text.from(at, end));
      }
      at = end;
    }
    return edit.finish();
  }
};

MadeNormalizer normal_form(bool composed, bool compatible) {
  return make_normalizer<NormalFormNormalizer>(
      NormalForm{composed, compatible});
}

}  // namespace

MadeNormalizer read_nfc_normalizer(const JsonPart&) {
  return normal_form(true, false);
}
MadeNormalizer read_nfd_normalizer(const JsonPart&) {
  return normal_form(false, false);
}
MadeNormalizer read_nfkc_normalizer(const JsonPart&) {
  return normal_form(true, true);
}
MadeNormalizer read_nfkd_normalizer(const JsonPart&) {
  return normal_form(false, true);
}

MadeNormalizer read_nmt_normalizer(const JsonPart&) {
  return make_normalizer<CharacterNormalizer<nmt_character>>();
}

MadeNormalizer read_lowercase_normalizer(const JsonPart&) {
  return make_normalizer<LowercaseNormalizer>();
}

MadeNormalizer read_strip_accents_normalizer(const JsonPart&) {
  return make_normalizer<CharacterNormalizer<without_accent>>();
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
