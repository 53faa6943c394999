// Strip, Prepend, Replace and ByteLevel.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "patterns/pattern.h"
#include "tokenizer/normalizer_readers.h"
#include "tokenizer/shared_keys.h"
#include "tokenizer/text_edit.h"
#include "unicode/byte_alphabet.h"
#include "unicode/character_class.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

class StripNormalizer : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}

  Result<bool> apply(const AlignedText& text,
                     AlignedText& result) const override {
    std::string_view kept = text.text();
    while (left_ && !kept.empty()) {
      const Character first = first_character(kept);
      if (!is_white_space(first.code)) {
        break;
      }
      kept.remove_prefix(first.bytes);
    }
    const std::size_t begin = text.text().size() - kept.size();
    while (right_ && !kept.empty()) {
      const Character last = last_character(kept);
      if (!is_white_space(last.code)) {
        break;
      }
      kept.remove_suffix(last.bytes);
    }
    if (kept.size() == text.text().size()) {
      return false;
    }
    result.start(text);
    if (!kept.empty()) {
      result.append(text, begin, begin + kept.size());
    }
    return true;
  }

 private:
  bool left_;
  bool right_;
};

class PrependNormalizer : public Normalizer {
 public:
  explicit PrependNormalizer(std::string prefix) : prefix_(std::move(prefix)) {}

  Result<bool> apply(const AlignedText& text,
                     AlignedText& result) const override {
    if (text.text().empty()) {
      return false;
    }
    const std::size_t first = first_character(text.text()).bytes;
    // An empty prefix takes the place of the first character all the same.
    const Span from = prefix_.empty() ? Span{text.begin(), text.begin()}
                                      : text.from(0, first);
    TextEdit edit(text, result);
    edit.drop(0, first);
    edit.put(prefix_, from);
    edit.put(text.text().substr(0, first), from);
    return edit.finish();
  }

 private:
  std::string prefix_;
};

class ReplaceNormalizer : public Normalizer {
 public:
  ReplaceNormalizer(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  Result<bool> apply(const AlignedText& text,
                     AlignedText& result) const override {
    if (text.text().empty()) {
      return false;
    }
    std::vector<Match> matches;
    HEADWISE_TRY(pattern_.find(text.text(), matches));
    TextEdit edit(text, result);
    for (const Match& match : matches) {
      edit.drop(match.begin, match.end);
      // From the last byte before the end of the match, even if it is empty.
      edit.put(content_, match.end == 0 ? Span{text.begin(), text.begin()}
                                        : text.from(match.end - 1, match.end));
    }
    return edit.finish();
  }

 private:
  Pattern pattern_;
  std::string content_;
};

class ByteLevelNormalizer : public Normalizer {
 public:
  Result<bool> apply(const AlignedText& text,
                     AlignedText& result) const override {
    const std::string_view bytes = text.text();
    TextEdit edit(text, result);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      const auto byte = static_cast<unsigned char>(bytes[at]);
      if (const char32_t code = byte_character(byte);
          code != byte || code >= 0x80) {
        edit.replace(at, at + 1, code);
      }
    }
    return edit.finish();
  }
};

}  // namespace

MadeNormalizer read_strip_normalizer(const JsonPart& part) {
  bool left = false;
  bool right = false;
  HEADWISE_TRY(part.require("strip_left", left));
  HEADWISE_TRY(part.require("strip_right", right));
  return make_normalizer<StripNormalizer>(left, right);
}

MadeNormalizer read_prepend_normalizer(const JsonPart& part) {
  std::string prefix;
  HEADWISE_TRY(part.require("prepend", prefix));
  return make_normalizer<PrependNormalizer>(std::move(prefix));
}

MadeNormalizer read_replace_normalizer(const JsonPart& part) {
  HEADWISE_ASSIGN(Pattern pattern, read_pattern(part));
  std::string content;
  HEADWISE_TRY(part.require("content", content));
  return make_normalizer<ReplaceNormalizer>(std::move(pattern),
                                            std::move(content));
}

MadeNormalizer read_byte_level_normalizer(const JsonPart&) {
  return make_normalizer<ByteLevelNormalizer>();
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
