// BertNormalizer, in one pass:
//
//   clean      NUL, U+FFFD, control and format characters are dropped, white
//              space becomes ' '
//   spaced     a CJK ideograph is a word of its own: ' ' before and behind it
//   stripped   canonically decomposed, without marks that take no space
//   lowered    in lower case
//
// Source: the tokenizer of Devlin et al. 2018, arXiv:1810.04805; positions
// where marks are sorted are those of the reference (the nth character of the
// sorted text is said to come from the nth of the unsorted).
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/normalizer_readers.h"
#include "unicode/bert_characters.h"
#include "unicode/character_class.h"
#include "unicode/normal_forms.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

struct BertSteps {
  bool clean = false;
  bool spaced = false;
  bool stripped = false;
  bool lowered = false;
};

// Large scripts without case and marks, most of the texts in them.
bool is_ideograph(char32_t code) { return code >= 0x4E00 && code <= 0x9FFF; }
bool is_syllable(char32_t code) { return code >= 0xAC00 && code <= 0xD7A3; }

// Writes what becomes of characters.
class BertWriter {
 public:
  BertWriter(BertSteps steps, AlignedText& result)
      : steps_(steps), result_(result) {}

  void add(char32_t code, Span from) {
    if (steps_.clean) {
      if (is_dropped(code)) {
        return;
      }
      code = is_space(code) ? U' ' : code;
    }
    if (steps_.spaced && is_cjk(code)) {
      strip(U' ', from);
      strip(code, from);
      strip(U' ', from);
      return;
    }
    strip(code, from);
  }

  // Writes the marks that wait. To be called before another one writes.
  void flush() { flush(pieces_.size()); }

 private:
  void strip(char32_t code, Span from) {
    if (!steps_.stripped) {
      lower(code, from);
      return;
    }
    const std::size_t waiting = pieces_.size();
    decompose(code, false, pieces_);
    // Only marks change places, and only with adjacent marks.
    if (pieces_[waiting].combining_class == 0) {
      flush(waiting);
    }
    sources_.push_back(from);
  }

  // Of the first `count` pieces, which are all that sources_ are of.
  void flush(std::size_t count) {
    if (count == 0) {
      return;
    }
    const std::span waiting = std::span(pieces_).first(count);
    sort_marks(waiting);
    std::size_t sources = 0;
    for (const NormalPiece& piece : waiting) {
      sources += piece.change == 0 ? 1 : 0;
      if (!is_nonspacing_mark(piece.code)) {
        lower(piece.code, sources_[sources - 1]);
      }
    }
    pieces_.erase(pieces_.begin(),
                  pieces_.begin() + static_cast<std::ptrdiff_t>(count));
    sources_.clear();
  }

  void lower(char32_t code, Span from) {
    if (!steps_.lowered) {
      result_.append(code, from);
      return;
    }
    const LowerCase lower = lower_case(code);
    result_.append(lower.first, from);
    if (lower.second != 0) {
      result_.append(lower.second, from);
    }
  }

  BertSteps steps_;
  AlignedText& result_;
  std::vector<NormalPiece> pieces_;  // marks, and the character before them
  std::vector<Span> sources_;        // of each piece that changes by 0
};

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(BertSteps steps) : steps_(steps) {
    for (char32_t code = 0; code < kQuickCodes; ++code) {
      quick_[code] = quick(code);
    }
  }

  Result<bool> apply(const AlignedText& text,
                     AlignedText& result) const override {
    const std::string_view bytes = text.text();
    std::size_t at = kept_from(bytes, 0);
    if (at == bytes.size()) {
      return false;
    }
    result.start(text);
    BertWriter writer(steps_, result);
    for (std::size_t begin = 0;; at = kept_from(bytes, begin)) {
      if (at > begin) {
        writer.flush();
        result.append(text, begin, at);
      }
      if (at == bytes.size()) {
        break;
      }
      begin = at + change(text, at, writer, result);
    }
    writer.flush();
    return true;
  }

 private:
  static constexpr char32_t kQuickCodes = 0x700;
  // No characters: this one is dropped, that one takes more than a look.
  static constexpr char32_t kDropped = 0x110000;
  static constexpr char32_t kNotQuick = 0x110001;

  // What becomes of a character, if that is at most one character whatever
  // comes before and behind it.
  char32_t quick(char32_t code) const {
    if (steps_.stripped) {
      const Decomposition decomposition(code);
      const auto parts = decomposition.codes();
      if (combining_class(parts.front()) != 0 ||
          !std::ranges::all_of(parts.subspan(1), is_nonspacing_mark)) {
        return kNotQuick;
      }
    }
    AlignedText result;
    result.start(result);
    BertWriter writer(steps_, result);
    writer.add(code, {});
    writer.flush();
    const std::string_view becomes = result.text();
    if (becomes.empty()) {
      // A mark of class 0 keeps those before and behind it apart.
      return steps_.clean && is_dropped(code) ? kDropped : kNotQuick;
    }
    const Character first = first_character(becomes);
    return first.bytes == becomes.size() ? first.code : kNotQuick;
  }

  bool is_kept(char32_t code) const {
    return code < kQuickCodes ? quick_[code] == code
                              : (is_ideograph(code) && !steps_.spaced) ||
                                    (is_syllable(code) && !steps_.stripped);
  }

  // The first byte from `at` on of a character that may change.
  std::size_t kept_from(std::string_view text, std::size_t at) const {
    while (at < text.size()) {
      const Character character = first_character(text.substr(at));
      if (!is_kept(character.code)) {
        break;
      }
      at += character.bytes;
    }
    return at;
  }

  // Writes what becomes of the character at `at`: its bytes.
  std::size_t change(const AlignedText& text, std::size_t at,
                     BertWriter& writer, AlignedText& result) const {
    const Character character = first_character(text.text().substr(at));
    const char32_t code = character.code;
    const Span from = text.from(at, at + character.bytes);
    if (is_ideograph(code)) {
      writer.flush();
      for (const char32_t spaced : {U' ', code, U' '}) {
        result.append(spaced, from);
      }
    } else if (is_syllable(code)) {
      writer.flush();
      const Decomposition decomposition(code);
      for (const char32_t part : decomposition.codes()) {
        result.append(part, from);
      }
    } else if (code >= kQuickCodes || quick_[code] == kNotQuick) {
      writer.add(code, from);
    } else if (quick_[code] != kDropped) {
      writer.flush();
      result.append(quick_[code], from);
    }
    return character.bytes;
  }

  BertSteps steps_;
  std::array<char32_t, kQuickCodes> quick_{};
};

}  // namespace

MadeNormalizer read_bert_normalizer(const JsonPart& part) {
  BertSteps steps;
  HEADWISE_TRY(part.require("clean_text", steps.clean));
  HEADWISE_TRY(part.require("handle_chinese_chars", steps.spaced));
  HEADWISE_TRY(part.require("lowercase", steps.lowered));
  steps.stripped = steps.lowered;
  HEADWISE_TRY(part.get("strip_accents", steps.stripped));
  return make_normalizer<BertNormalizer>(steps);
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
