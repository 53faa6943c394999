#include "models/tokenizer_json.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "headwise/models/wordpiece.h"
#include "interop/error_text.h"
#include "interop/json_events.h"
#include "interop/json_leaves.h"
#include "models/model_files.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// What must be so, for the tokenizer is not computed otherwise.
struct Fixed {
  std::string_view path;
  JsonLeaf value;
  bool required = false;
};
const std::array<Fixed, 7>& fixed_values() {
  static const std::array<Fixed, 7> values = {
      Fixed{"model.type", std::string("WordPiece"), true},
      Fixed{"model.unk_token", std::string("[UNK]")},
      Fixed{"model.continuing_subword_prefix", std::string("##")},
      Fixed{"model.max_input_chars_per_word", std::uint64_t{kLongestWord}},
      Fixed{"normalizer.type", std::string("BertNormalizer"), true},
      Fixed{"normalizer.clean_text", true},
      Fixed{"pre_tokenizer.type", std::string("BertPreTokenizer"), true}};
  return values;
}

constexpr std::string_view kLowercase = "normalizer.lowercase";
constexpr std::string_view kStripAccents = "normalizer.strip_accents";
constexpr std::string_view kChineseChars = "normalizer.handle_chinese_chars";

// "model.type" is the key `type` of the object `model`. Elements of arrays have
// an empty name.
class TokenizerEvents : public NestedJsonEvents {
 public:
  std::map<std::string, JsonLeaf, std::less<>> values;
  std::vector<std::pair<std::uint64_t, std::string>> tokens;

  bool null() override { return pass_over("null"); }
  bool boolean(bool value) override {
    return is_token() ? unexpected("a bool") : keep(value);
  }
  bool number_integer(std::int64_t /*value*/) override {
    return pass_over("a negative number");
  }
  bool number_unsigned(std::uint64_t value) override {
    if (is_token()) {
      tokens.emplace_back(value, path_.back());
      return true;
    }
    return keep(value);
  }
  bool number_float(double /*value*/, const std::string& /*text*/) override {
    return pass_over("a number with a point");
  }
  bool string(std::string& value) override {
    return is_token() ? unexpected("a text") : keep(std::move(value));
  }
  bool start_object(std::size_t /*elements*/) override {
    // A list of pairs is the vocabulary of another kind of model.
    in_vocabulary_ = in_vocabulary_ || path() == "model.vocab";
    return open_container("an object");
  }
  bool start_array(std::size_t /*elements*/) override {
    return depth() == 0 ? unexpected("an array") : open_container("an array");
  }
  bool end_object() override { return close_container(); }
  bool end_array() override { return close_container(); }
  bool key(std::string& key) override {
    path_.back() = key;
    // The vocabulary detects a token that occurs twice, with less memory.
    return is_token() || add_key(std::move(key));
  }

 private:
  bool is_token() const { return in_vocabulary_ && path_.size() == 3; }
  std::string path() const {
    std::string joined;
    for (const std::string& name : path_) {
      joined += (joined.empty() ? "" : ".") + name;
    }
    return joined;
  }
  template <class T>
  bool keep(T value) {
    if (depth() == 0) {
      return unexpected("a value by itself");
    }
    constexpr std::size_t kDepth = 2;  // of all that is wanted
    if (path_.size() == kDepth) {
      values.insert_or_assign(path(), JsonLeaf(std::move(value)));
    }
    return true;
  }
  bool pass_over(std::string_view given) {
    return depth() == 0 || is_token() ? unexpected(given) : true;
  }
  bool open_container(std::string_view given) {
    if (is_token()) {
      return unexpected(given);
    }
    path_.emplace_back();
    return open();
  }
  bool close_container() {
    path_.pop_back();
    in_vocabulary_ = in_vocabulary_ && path_.size() > 2;
    return close();
  }
  Place place() const override {
    return is_token()
               ? Place{"model.vocab." + printable(path_.back()), "a number"}
               : Place{"", "an object"};
  }

  std::vector<std::string> path_;  // the key at each depth
  bool in_vocabulary_ = false;
};

Status check_kind(const TokenizerEvents& events, const FileSubject& subject) {
  for (const Fixed& fixed : fixed_values()) {
    const auto found = events.values.find(fixed.path);
    if (found == events.values.end()) {
      if (fixed.required) {
        return subject.error(ErrorCode::unsupported,
                             message("has no {}", fixed.path),
                             leaf_text(fixed.value));
      }
    } else if (found->second != fixed.value) {
      return subject.of_entry(std::string(fixed.path))
          .error(ErrorCode::unsupported,
                 message("is {}", leaf_text(found->second)),
                 leaf_text(fixed.value));
    }
  }
  return ok();
}

// Nothing where the key is not there, or null.
Result<std::optional<bool>> flag_of(const TokenizerEvents& events,
                                    std::string_view path,
                                    const FileSubject& subject) {
  const auto found = events.values.find(path);
  if (found == events.values.end()) {
    return std::optional<bool>();
  }
  if (const bool* const flag = std::get_if<bool>(&found->second)) {
    return std::optional(*flag);
  }
  return subject.of_entry(std::string(path))
      .bad_data(message("is {}", leaf_text(found->second)), "true or false");
}

Result<WordPieceOptions> options_of(const TokenizerEvents& events,
                                    const FileSubject& subject) {
  HEADWISE_ASSIGN(const auto lowercase, flag_of(events, kLowercase, subject));
  HEADWISE_ASSIGN(const auto strip_accents,
                  flag_of(events, kStripAccents, subject));
  HEADWISE_ASSIGN(const auto chinese, flag_of(events, kChineseChars, subject));
  WordPieceOptions options;
  options.do_lower_case = lowercase.value_or(options.do_lower_case);
  options.strip_accents = strip_accents;
  options.tokenize_chinese_chars =
      chinese.value_or(options.tokenize_chinese_chars);
  return options;
}

Result<std::string> vocabulary_of(TokenizerEvents& events,
                                  const FileSubject& subject) {
  std::ranges::sort(events.tokens);
  std::string text;
  for (std::size_t n = 0; n < events.tokens.size(); ++n) {
    const auto& [id, token] = events.tokens[n];
    if (id != n) {
      return subject.of_entry("model.vocab")
          .bad_data(message("has the id {} for {}", id, printable(token)),
                    std::to_string(n));
    }
    if (token.empty() || token.size() > kLongestToken ||
        token.find_first_of("\r\n") != std::string::npos) {
      return subject.of_entry("model.vocab")
          .bad_data(
              message("has \"{}\" as the token of id {}", printable(token), n),
              message("1 to {} bytes without a line end", kLongestToken));
    }
    text += token + "\n";
  }
  return text;
}

}  // namespace

bool is_tokenizer_json(std::string_view path) {
  return path.ends_with(".json");
}

Result<TokenizerJson> parse_tokenizer_json(std::string_view text,
                                           const FileSubject& subject) {
  TokenizerEvents events;
  HEADWISE_TRY(read_json(text, events, subject));
  HEADWISE_TRY(check_kind(events, subject));
  HEADWISE_TRY(check_listed_tokens(text, subject));
  HEADWISE_ASSIGN(const auto options, options_of(events, subject));
  HEADWISE_ASSIGN(auto vocabulary, vocabulary_of(events, subject));
  return TokenizerJson{options, std::move(vocabulary)};
}

}  // namespace headwise::inline HEADWISE_ABI
