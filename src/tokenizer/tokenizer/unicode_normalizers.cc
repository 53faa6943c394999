// NFC, NFD, NFKC and NFKD; Lowercase; BertNormalizer, which is some of both.
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/normalizer.h"
#include "unicode/character_class.h"
#include "unicode/character_traits.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

void put(LowerCase lower, Span from, TextEdit& edit) {
  edit.put(lower.first, from);
  if (lower.second != 0) {
    edit.put(lower.second, from);
  }
}

// In one pass:
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
class BertNormalizer {
 public:
  BertNormalizer(bool clean, bool spaced, bool stripped, bool lowered)
      : stripped_(stripped),
        changing_((clean ? kDroppedBit | kSpaceBit : 0) |
                  (spaced ? kIdeographBit : 0) |
                  (stripped
                       ? kNonspacingBit | static_cast<unsigned>(NormalForm::nfd)
                       : 0) |
                  (lowered ? kUpperCaseBit : 0)) {
    for (char32_t code = 0; code < quick_.size(); ++code) {
      quick_[code] = quick(code);
    }
  }

  Status operator()(TextEdit& edit) const {
    const std::string_view text = edit.text();
    Run run;
    for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
      if (const auto byte = static_cast<unsigned char>(text[begin]);
          byte < 0x80 && quick_[byte] == byte) {  // most of most texts
        end = begin + 1;
        continue;
      }
      const Character character = first_character(text.substr(begin));
      const char32_t code = character.code;
      end = begin + character.bytes;
      const char32_t becomes = code < quick_.size()       ? quick_[code]
                               : changes(code, changing_) ? kNotQuick
                                                          : code;
      if (becomes == code) {
        continue;
      }
      if (becomes != kNotQuick || begin != run.end) {
        put_run(run, edit);
      }
      edit.drop(begin, end);
      const Span from = edit.source().from(begin, end);
      if (becomes != kNotQuick) {
        edit.put(becomes, from);
        continue;
      }
      run.end = end;
      add_to_run(code, from, run);
    }
    put_run(run, edit);
    return ok();
  }

 private:
  static constexpr char32_t kNotQuick = 0x110000;  // no character

  // Adjacent characters that may change places, or become none or several.
  struct Run {
    std::size_t end = 0;
    std::vector<NormalPiece> pieces{};
    std::vector<Span> sources{};  // of each piece that changes by 0
  };

  bool changes(char32_t code, unsigned bits) const {
    return (traits(code).bits & changing_ & bits) != 0;
  }

  // What becomes of a character, if that is one whatever comes before and
  // behind it.
  char32_t quick(char32_t code) const {
    if (changes(code, kSpaceBit)) {
      return U' ';
    }
    if (changes(code, kDroppedBit | kNonspacingBit)) {
      return kNotQuick;
    }
    if (stripped_) {
      std::vector<NormalPiece> pieces;
      decompose(NormalForm::nfd, code, pieces);
      const auto goes = [&](const NormalPiece& piece) {
        return changes(piece.code, kNonspacingBit);
      };
      if (!std::all_of(pieces.begin() + 1, pieces.end(), goes)) {
        return kNotQuick;
      }
      code = pieces.front().code;
    }
    const LowerCase lower = lower_of(code);
    return lower.second == 0 ? lower.first : kNotQuick;
  }

  LowerCase lower_of(char32_t code) const {
    return changes(code, kUpperCaseBit) ? lower_case(code) : LowerCase{code};
  }

  void add_to_run(char32_t code, Span from, Run& run) const {
    const auto add = [&](char32_t part) {
      run.sources.push_back(from);
      if (stripped_) {
        decompose(NormalForm::nfd, part, run.pieces);
      } else {
        run.pieces.push_back({part, 0, 0});
      }
    };
    if (changes(code, kIdeographBit)) {
      add(U' ');
      add(code);
      add(U' ');
    } else if (!changes(code, kDroppedBit)) {
      add(changes(code, kSpaceBit) ? U' ' : code);
    }
  }

  void put_run(Run& run, TextEdit& edit) const {
    if (run.pieces.empty()) {
      return;
    }
    sort_marks(run.pieces);
    std::size_t sources = 0;
    for (const NormalPiece& piece : run.pieces) {
      sources += piece.change == 0 ? 1 : 0;
      if (!changes(piece.code, kNonspacingBit)) {
        put(lower_of(piece.code), run.sources[sources - 1], edit);
      }
    }
    run.pieces.clear();
    run.sources.clear();
  }

  bool stripped_;
  unsigned changing_;  // the bits of what may change
  std::array<char32_t, 0x700> quick_{};
};

}  // namespace

Status put_normal_form(NormalForm form, TextEdit& edit) {
  const std::string_view text = edit.text();
  std::u32string codes;
  std::vector<NormalPiece> normal;
  std::size_t before = 0;  // the character before `at`, if it is kept
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t end = ascii_end(text, at); end > at) {
      before = end - 1;
      at = end;
      continue;
    }
    Character next = first_character(text.substr(at));
    if (is_kept(form, next.code)) {
      before = at;
      at += next.bytes;
      continue;
    }
    // What may change, with the one before, which it may compose with.
    codes.clear();
    if (before < at) {
      codes += first_character(text.substr(before)).code;
    }
    while (next.bytes > 0 && !is_kept(form, next.code)) {
      codes += next.code;
      at += next.bytes;
      next = at < text.size() ? first_character(text.substr(at)) : Character();
    }
    normalize(form, codes, normal);
    if (!std::ranges::equal(codes, normal, {}, {}, &NormalPiece::code)) {
      edit.drop(before, before);
      for (const NormalPiece& piece : normal) {
        edit.put_changed(piece.code, piece.change);
      }
    }
    before = at;
  }
  return ok();
}

Status put_lower_case(TextEdit& edit) {
  for_each_character(
      edit.text(), [&](char32_t code, std::size_t begin, std::size_t end) {
        if ((traits(code).bits & kUpperCaseBit) != 0) {
          edit.drop(begin, end);
          put(lower_case(code), edit.source().from(begin, end), edit);
        }
      });
  return ok();
}

Result<NormalizerStep> read_bert_normalizer(const JsonPart& part) {
  bool clean = false;
  bool spaced = false;
  bool lowered = false;
  HEADWISE_TRY(part.require("clean_text", clean));
  HEADWISE_TRY(part.require("handle_chinese_chars", spaced));
  HEADWISE_TRY(part.require("lowercase", lowered));
  bool stripped = lowered;
  HEADWISE_TRY(part.get("strip_accents", stripped));
  return NormalizerStep(BertNormalizer(clean, spaced, stripped, lowered));
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
