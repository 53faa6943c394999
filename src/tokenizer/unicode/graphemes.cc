#include "unicode/character_traits.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

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

  bool joins(char32_t code, GraphemeClass next) const {
    using enum GraphemeClass;
    if (last_ == control || next == control) {
      return last_code_ == U'\r' && code == U'\n';
    }
    return extends(next) || next == joiner || next == spacing ||
           last_ == prepend ||
           (next == consonant && conjunct_ == SequenceState::joining) ||
           (next == pictograph && emoji_ == SequenceState::joining) ||
           joins_hangul(last_, next, (last_code_ - 0xAC00) % 28 == 0);
  }

 private:
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
  Cluster cluster;
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, bytes] = first_character(text.substr(at));
    const GraphemeClass kind = traits(code).grapheme_class;
    if (at > 0 && !cluster.joins(code, kind)) {
      return at;
    }
    cluster.add(code, kind);
    at += bytes;
  }
  return text.size();
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
