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
struct BertSteps {
  bool clean = false;
  bool spaced = false;
  bool stripped = false;
  bool lowered = false;

  // The bits of traits of what may change.
  unsigned changing() const {
    return (clean ? kDroppedBit | kSpaceBit : 0) |
           (spaced ? kIdeographBit : 0) |
           (stripped ? kNfdBit | kNonspacingBit : 0) |
           (lowered ? kUpperCaseBit : 0);
  }
};

class BertWriter {
 public:
  BertWriter(BertSteps steps, TextEdit& edit)
      : steps_(steps), changing_(steps.changing()), edit_(edit) {}

  void add(char32_t code, std::size_t begin, std::size_t end) {
    const unsigned bits = traits(code).bits & changing_;
    if (bits == 0) {
      return;
    }
    if (begin != end_) {
      flush();
    }
    end_ = end;
    const Span from = edit_.source().from(begin, end);
    edit_.drop(begin, end);
    if ((bits & kDroppedBit) != 0) {
      return;
    }
    const bool is_spaced = (bits & kIdeographBit) != 0;
    if (is_spaced) {
      strip(U' ', from);
    }
    strip((bits & kSpaceBit) != 0 ? U' ' : code, from);
    if (is_spaced) {
      strip(U' ', from);
    }
  }

  // Writes the marks that wait. To be called at the end.
  void flush() { flush(pieces_.size()); }

 private:
  void strip(char32_t code, Span from) {
    if (!steps_.stripped || (traits(code).bits & kNfdBit) == 0) {
      flush();
      put(code, from);
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
      put(piece.code, sources_[sources - 1]);
    }
    pieces_.erase(pieces_.begin(),
                  pieces_.begin() + static_cast<std::ptrdiff_t>(count));
    sources_.clear();
  }

  void put(char32_t code, Span from) {
    if (steps_.stripped && (traits(code).bits & kNonspacingBit) != 0) {
      return;
    }
    if (steps_.lowered) {
      put_lower(code, from, edit_);
    } else {
      edit_.put(code, from);
    }
  }

  BertSteps steps_;
  unsigned changing_;
  TextEdit& edit_;
  std::size_t end_ = 0;  // of the last character that may have changed
  std::vector<NormalPiece> pieces_;  // marks, and the character before them
  std::vector<Span> sources_;        // of each piece that changes by 0
};

class BertNormalizer {
 public:
  explicit BertNormalizer(BertSteps steps) : steps_(steps) {
    quick_.fill(kNotQuick);
    for (char32_t code = 0; code < quick_.size(); ++code) {
      quick_[code] = quick(code);
    }
  }

  Status operator()(TextEdit& edit) const {
    BertWriter writer(steps_, edit);
    for_each_character(edit.text(), [&](char32_t code, std::size_t begin,
                                        std::size_t end) {
      const char32_t becomes = code < quick_.size() ? quick_[code] : kNotQuick;
      if (becomes == kNotQuick) {
        writer.add(code, begin, end);
        return;
      }
      if (becomes != code) {
        writer.flush();
        edit.drop(begin, end);
        edit.put(becomes, edit.source().from(begin, end));
      }
    });
    writer.flush();
    return ok();
  }

 private:
  static constexpr char32_t kNotQuick = 0x110000;  // no character

  // What becomes of a character, if that is one whatever comes before and
  // behind it.
  char32_t quick(char32_t code) const {
    if ((traits(code).bits & kNonspacingBit) != 0) {
      return kNotQuick;
    }
    std::string one;
    append_character(one, code);
    AlignedText text;
    text.view(one, 0);
    AlignedText result;
    TextEdit edit(text, result);
    const bool changed = (*this)(edit) && edit.finish();
    const std::string_view becomes = changed ? result.text() : text.text();
    const Character first =
        becomes.empty() ? Character() : first_character(becomes);
    return first.bytes == becomes.size() && first.bytes > 0 ? first.code
                                                            : kNotQuick;
  }

  BertSteps steps_;
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
  BertSteps steps;
  HEADWISE_TRY(part.require("clean_text", steps.clean));
  HEADWISE_TRY(part.require("handle_chinese_chars", steps.spaced));
  HEADWISE_TRY(part.require("lowercase", steps.lowered));
  steps.stripped = steps.lowered;
  HEADWISE_TRY(part.get("strip_accents", steps.stripped));
  return NormalizerStep(BertNormalizer(steps));
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
