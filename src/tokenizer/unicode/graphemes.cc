#include "unicode/character_traits.h"
#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

bool joins_hangul(GraphemeClass before, GraphemeClass next) {
  using enum GraphemeClass;
  return (before == leading &&
          (next == leading || next == vowel || next == syllable)) ||
         (before == vowel && (next == vowel || next == trailing)) ||
         (before == trailing && next == trailing);
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
    // A syllable ends with a vowel, or with a consonant behind it.
    const GraphemeClass end = (code - 0xAC00) % 28 == 0 ? vowel : trailing;
    last_ = kind == syllable ? end : kind;
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
           joins_hangul(last_, next);
  }

 private:
  char32_t last_code_ = 0;
  GraphemeClass last_ = GraphemeClass::other;
  SequenceState emoji_ = SequenceState::none;     // pictograph, joiner
  SequenceState conjunct_ = SequenceState::none;  // consonant, linker
};

}  // namespace

std::size_t first_grapheme(std::string_view text) {
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
