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
#include "unicode/normal_forms.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

void put_lower(char32_t code, Span from, TextEdit& edit) {
  if ((traits(code).bits & kUpperCaseBit) == 0) {
    edit.put(code, from);
    return;
  }
  const LowerCase lower = lower_case(code);
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
        lowered_(lowered),
        changing_((clean ? kDroppedBit | kSpaceBit : 0) |
                  (spaced ? kIdeographBit : 0) |
                  (stripped ? kNfdBit | kNonspacingBit : 0) |
                  (lowered ? kUpperCaseBit : 0)) {
    for (char32_t code = 0; code < quick_.size(); ++code) {
      quick_[code] = quick(code);
    }
  }

  Status operator()(TextEdit& edit) const {
    const std::string_view text = edit.text();
    Run run;
    for (std::size_t at = 0; at < text.size();) {
      const auto [code, bytes] = first_character(text.substr(at));
      const char32_t becomes = becomes_quickly(code);
      std::size_t end = at + bytes;
      if (becomes == kNotQuick) {
        end = run_end(text, end);
        put_run(edit, at, end, run);
      } else if (becomes != code) {
        edit.drop(at, end);
        edit.put(becomes, edit.source().from(at, end));
      }
      at = end;
    }
    return ok();
  }

 private:
  static constexpr char32_t kNotQuick = 0x110000;  // no character

  // Adjacent characters that may change places, or become none or several.
  struct Run {
    std::vector<NormalPiece> pieces;
    std::vector<Span> sources;  // of each piece that changes by 0
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
      decompose(code, false, pieces);
      const auto goes = [&](const NormalPiece& piece) {
        return changes(piece.code, kNonspacingBit);
      };
      if (!std::all_of(pieces.begin() + 1, pieces.end(), goes)) {
        return kNotQuick;
      }
      code = pieces.front().code;
    }
    const LowerCase lower = lowered_ ? lower_case(code) : LowerCase{code};
    return lower.second == 0 ? lower.first : kNotQuick;
  }

  char32_t becomes_quickly(char32_t code) const {
    return code < quick_.size()       ? quick_[code]
           : changes(code, changing_) ? kNotQuick
                                      : code;
  }

  std::size_t run_end(std::string_view text, std::size_t at) const {
    while (at < text.size()) {
      const auto [code, bytes] = first_character(text.substr(at));
      if (becomes_quickly(code) != kNotQuick) {
        break;
      }
      at += bytes;
    }
    return at;
  }

  void put_run(TextEdit& edit, std::size_t begin, std::size_t end,
               Run& run) const {
    run.pieces.clear();
    run.sources.clear();
    const auto add = [&](char32_t code, Span from) {
      run.sources.push_back(from);
      if (stripped_) {
        decompose(code, false, run.pieces);
      } else {
        run.pieces.push_back({code, 0, 0});
      }
    };
    for_each_character(edit.text().substr(begin, end - begin),
                       [&](char32_t code, std::size_t at, std::size_t after) {
                         const Span from =
                             edit.source().from(begin + at, begin + after);
                         if (changes(code, kIdeographBit)) {
                           add(U' ', from);
                           add(code, from);
                           add(U' ', from);
                         } else if (!changes(code, kDroppedBit)) {
                           add(changes(code, kSpaceBit) ? U' ' : code, from);
                         }
                       });
    sort_marks(run.pieces);
    edit.drop(begin, end);
    std::size_t sources = 0;
    for (const NormalPiece& piece : run.pieces) {
      sources += piece.change == 0 ? 1 : 0;
      if (changes(piece.code, kNonspacingBit)) {
        continue;
      }
      if (lowered_) {
        put_lower(piece.code, run.sources[sources - 1], edit);
      } else {
        edit.put(piece.code, run.sources[sources - 1]);
      }
    }
  }

  bool stripped_;
  bool lowered_;
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
  for_each_character(edit.text(),
                     [&](char32_t code, std::size_t begin, std::size_t end) {
                       if ((traits(code).bits & kUpperCaseBit) != 0) {
                         edit.drop(begin, end);
                         put_lower(code, edit.source().from(begin, end), edit);
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
