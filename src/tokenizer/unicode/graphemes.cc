#include "unicode/graphemes.h"

#include <algorithm>

#include "unicode/characters.h"
#include "unicode/grapheme_table.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

GraphemeClass grapheme_class(char32_t code) {
  using enum GraphemeClass;
  // Most letters need no search: Latin, Cyrillic, ideographs.
  if ((code >= 0xB0 && code < 0x300) || (code >= 0x400 && code < 0x480) ||
      (code >= 0x3400 && code < 0xA000)) {
    return other;
  }
  const auto found =
      std::ranges::lower_bound(kGraphemeRanges, code, {}, &GraphemeRange::last);
  return found != kGraphemeRanges.end() && found->first <= code ? found->kind
                                                                : other;
}

// `open`: `before` is a syllable without a last consonant.
bool joins_hangul(GraphemeClass before, GraphemeClass next, bool open) {
  using enum GraphemeClass;
  switch (before) {
    case leading:
      return next == leading || next == vowel || next == syllable;
    case syllable:
      return next == trailing || (next == vowel && open);
    case vowel:
      return next == vowel || next == trailing;
    case trailing:
      return next == trailing;
    default:
      return false;
  }
}

bool extends(GraphemeClass kind) {
  using enum GraphemeClass;
  return kind == extend || kind == linker || kind == non_joiner;
}

// How much of a sequence that rules join has been read.
enum class SequenceState : std::uint8_t { none, begun, joining };

// What has been read of a cluster.
class Cluster {
 public:
  explicit Cluster(char32_t code) { add(code, grapheme_class(code)); }

  // Adds the next character if it is part of the cluster.
  bool takes(char32_t code) {
    const GraphemeClass kind = grapheme_class(code);
    if (!joins(code, kind)) {
      return false;
    }
    add(code, kind);
    return true;
  }

 private:
  bool joins(char32_t code, GraphemeClass next) const {
    using enum GraphemeClass;
    if (last_ == control || next == control) {
      return last_code_ == U'\r' && code == U'\n';
    }
    return extends(next) || next == joiner || next == spacing ||
           last_ == prepend ||
           (next == consonant && conjunct_ == SequenceState::joining) ||
           (next == pictograph && emoji_ == SequenceState::joining) ||
           joins_hangul(last_, next, is_open_syllable());
  }

  bool is_open_syllable() const { return (last_code_ - 0xAC00) % 28 == 0; }

  void add(char32_t code, GraphemeClass kind) {
    using enum GraphemeClass;
    if (kind == pictograph) {
      emoji_ = SequenceState::begun;
    } else if (kind == joiner && emoji_ == SequenceState::begun) {
      emoji_ = SequenceState::joining;
    } else if (!(extends(kind) && emoji_ == SequenceState::begun)) {
      emoji_ = SequenceState::none;
    }
    if (kind == consonant) {
      conjunct_ = SequenceState::begun;
    } else if (kind == linker && conjunct_ == SequenceState::begun) {
      conjunct_ = SequenceState::joining;
    } else if (kind != extend && kind != linker && kind != joiner) {
      conjunct_ = SequenceState::none;
    }
    last_code_ = code;
    last_ = kind;
  }

  char32_t last_code_ = 0;
  GraphemeClass last_ = GraphemeClass::other;
  SequenceState emoji_ = SequenceState::none;     // pictograph, joiner
  SequenceState conjunct_ = SequenceState::none;  // consonant, linker
};

}  // namespace

std::size_t first_grapheme(std::string_view text) {
  const auto is_plain = [&](std::size_t n) {  // ASCII, but no control character
    return text[n] >= 0x20 && text[n] < 0x7F;
  };
  if (is_plain(0) && (text.size() == 1 || is_plain(1))) {
    return 1;
  }
  const Character first = first_character(text);
  Cluster cluster(first.code);
  std::size_t bytes = first.bytes;
  while (bytes < text.size()) {
    const Character next = first_character(text.substr(bytes));
    if (!cluster.takes(next.code)) {
      break;
    }
    bytes += next.bytes;
  }
  return bytes;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
