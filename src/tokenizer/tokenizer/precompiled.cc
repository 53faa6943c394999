// Precompiled: SentencePiece's table of replacements, which the reference
// applies to grapheme clusters of fewer than 6 bytes as a whole, to longer ones
// by character.
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tokenizer/base64.h"
#include "tokenizer/chars_map.h"
#include "tokenizer/normalizer_readers.h"
#include "unicode/graphemes.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr std::size_t kLongCluster = 6;

int count_characters(std::string_view text) {
  int count = 0;
  for (const char byte : text) {
    count += continues_character(byte) ? 0 : 1;
  }
  return count;
}

// Writes a changed text, and each replacement as one change of characters.
class PrecompiledWriter {
 public:
  PrecompiledWriter(const AlignedText& source, std::size_t begin,
                    AlignedText& result)
      : transform_(source, begin, source.text().size(), result) {}

  void keep(std::string_view text) {
    while (!text.empty()) {
      const Character first = first_character(text);
      put(first.code, 0);
      text.remove_prefix(first.bytes);
    }
  }

  void replace(std::string_view part, std::string_view with) {
    int left = count_characters(part);
    while (!with.empty()) {
      const Character first = first_character(with);
      put(first.code, left > 0 ? 0 : 1);
      with.remove_prefix(first.bytes);
      --left;
    }
    // What is left goes with the last character, of an earlier part if need
    // be. At the begin of a text there is none: the reference goes on, and all
    // that follows comes from too early a place.
    if (left > 0 && last_) {
      last_->change -= left;
    }
  }

  void finish() { flush(); }

 private:
  struct Last {
    char32_t code;
    int change;
  };

  void put(char32_t code, int change) {
    flush();
    last_ = {code, change};
  }

  void flush() {
    if (last_) {
      transform_.put(last_->code, last_->change);
    }
  }

  Transform transform_;
  std::optional<Last> last_;
};

// The parts of a text that are replaced or kept as a whole.
class PrecompiledParts {
 public:
  struct Part {
    std::string_view text;
    std::optional<std::string_view> with;  // nothing: it is kept
  };

  // A cluster begins where `text` does.
  PrecompiledParts(const CharsMap& map, std::string_view text)
      : map_(map), rest_(text) {}

  // The text behind the parts so far.
  std::string_view rest() const { return rest_; }

  // False at the end of the text.
  bool next(Part& part) {
    if (rest_.empty()) {
      return false;
    }
    if (cluster_ == 0) {
      cluster_ = first_grapheme(rest_);
      if (cluster_ < kLongCluster && take(cluster_, part)) {
        return true;
      }
    }
    const std::size_t bytes = first_character(rest_).bytes;
    if (!take(bytes, part)) {
      part = {rest_.substr(0, bytes), std::nullopt};
      pass(bytes);
    }
    return true;
  }

 private:
  bool take(std::size_t bytes, Part& part) {
    const std::string_view text = rest_.substr(0, bytes);
    const auto match = map_.first(text);
    if (match) {
      part = {text, match->replacement};
      pass(bytes);
    }
    return match.has_value();
  }

  void pass(std::size_t bytes) {
    rest_.remove_prefix(bytes);
    cluster_ -= bytes;
  }

  const CharsMap& map_;
  std::string_view rest_;
  std::size_t cluster_ = 0;  // bytes of rest_ that belong to a cluster
};

class PrecompiledNormalizer : public Normalizer {
 public:
  explicit PrecompiledNormalizer(CharsMap map) : map_(std::move(map)) {
    for (std::size_t byte = 0x20; byte < 0x7F; ++byte) {
      const auto character = static_cast<char>(byte);
      kept_[byte] = !map_.first({&character, 1});
    }
  }

  Result<bool> apply(const AlignedText& text,
                     AlignedText& result) const override {
    const std::string_view bytes = text.text();
    PrecompiledParts parts(map_, bytes.substr(kept_ascii(bytes)));
    PrecompiledParts::Part part;
    do {
      if (!parts.next(part)) {
        return false;
      }
    } while (!part.with);
    const std::size_t begin =
        bytes.size() - parts.rest().size() - part.text.size();
    // The first replacement may be part of a change of the character before.
    const std::size_t copied =
        begin == 0 ? 0 : begin - last_character(bytes.substr(0, begin)).bytes;
    result.start(text);
    if (copied > 0) {
      result.append(text, 0, copied);
    }
    PrecompiledWriter replaced(text, copied, result);
    replaced.keep(bytes.substr(copied, begin - copied));
    do {
      if (part.with) {
        replaced.replace(part.text, *part.with);
      } else {
        replaced.keep(part.text);
      }
    } while (parts.next(part));
    replaced.finish();
    return true;
  }

 private:
  // The ASCII characters that `text` begins with, are clusters and are kept.
  std::size_t kept_ascii(std::string_view text) const {
    std::size_t at = 0;
    while (at < text.size() && kept_[static_cast<unsigned char>(text[at])]) {
      ++at;
    }
    // The last one may be part of a longer cluster.
    return at == 0 || at == text.size() ? at : at - 1;
  }

  CharsMap map_;
  std::array<bool, 256> kept_{};  // of ASCII
};

}  // namespace

MadeNormalizer read_precompiled_normalizer(const JsonPart& part) {
  std::string text;
  HEADWISE_TRY(part.require("precompiled_charsmap", text));
  const std::optional<std::string> bytes = decode_base64(text);
  if (!bytes) {
    return part.unexpected("precompiled_charsmap", "base64");
  }
  HEADWISE_ASSIGN(CharsMap map,
                  CharsMap::make(*bytes, part.at("precompiled_charsmap")));
  return make_normalizer<PrecompiledNormalizer>(std::move(map));
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
