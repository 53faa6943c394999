#include "tokenizer/tokenizer_file.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "interop/error_text.h"
#include "interop/json_events.h"
#include "tokenizer/json_part.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// A vocabulary has 100,000s of entries: they go straight into the lists of the
// spec. Everything else becomes a tree.
class TokenizerFileEvents : public NestedJsonEvents {
 public:
  explicit TokenizerFileEvents(TokenizerSpec& spec) : spec_(spec) {}

  bool null() override { return add(nullptr, "null"); }
  bool boolean(bool value) override { return add(value, "a bool"); }
  bool number_integer(std::int64_t value) override {
    return is_score() ? add_score(static_cast<double>(value))
                      : add(value, "a negative number");
  }
  bool number_unsigned(std::uint64_t value) override {
    if (is_score()) {
      return add_score(static_cast<double>(value));
    }
    if (list_ == List::vocabulary) {
      if (value > std::numeric_limits<std::uint32_t>::max()) {
        return unexpected(message("the id {}", value));
      }
      spec_.vocabulary.emplace_back(std::move(token_),
                                    static_cast<std::uint32_t>(value));
      return true;
    }
    return add(value, "a number");
  }
  bool number_float(double value, const std::string& text) override {
    return is_score() ? add_score(value) : add(value, text);
  }
  bool string(std::string& value) override {
    switch (list_) {
      case List::none:
        return add(std::string_view(value), "");
      case List::merges:
        return add_merge(value);
      case List::pieces:
        if (inner_ && fields_ == 0) {
          ++fields_;
          token_ = std::move(value);
          return true;
        }
        [[fallthrough]];
      default:
        return unexpected("a text");
    }
  }
  bool key(std::string& value) override {
    if (list_ == List::vocabulary) {
      token_ = std::move(value);
      return true;
    }
    keys_.back() = value;
    return add_key(std::move(value));
  }
  bool start_object(std::size_t /*elements*/) override {
    if (is_list("vocab")) {
      list_ = List::vocabulary;
      return true;
    }
    return list_ == List::none ? open_tree(Json::object())
                               : unexpected("an object");
  }
  bool end_object() override {
    if (list_ == List::vocabulary) {
      list_ = List::none;
      return true;
    }
    return close_tree();
  }
  bool start_array(std::size_t /*elements*/) override {
    if (is_list("vocab") || is_list("merges")) {
      list_ = keys_.back() == "vocab" ? List::pieces : List::merges;
      return true;
    }
    if (list_ == List::none) {
      return depth() == 0 ? unexpected("an array") : open_tree(Json::array());
    }
    if (list_ == List::vocabulary || inner_) {
      return unexpected("an array");
    }
    inner_ = true;
    fields_ = 0;
    return true;
  }
  bool end_array() override {
    if (list_ == List::none) {
      return close_tree();
    }
    if (!inner_) {
      list_ = List::none;
      return true;
    }
    if (fields_ != 2) {
      return unexpected(message("a list of length {}", fields_));
    }
    inner_ = false;
    return true;
  }

 private:
  enum class List { none, vocabulary, pieces, merges };

  // Whether the value of model.NAME begins.
  bool is_list(std::string_view name) const {
    return list_ == List::none && keys_.size() == 2 && keys_[0] == "model" &&
           keys_[1] == name;
  }
  bool is_score() const {
    return list_ == List::pieces && inner_ && fields_ == 1;
  }
  bool add_score(double score) {
    ++fields_;
    spec_.pieces.emplace_back(std::move(token_), score);
    return true;
  }

  // "a b", or one of ["a", "b"].
  bool add_merge(std::string& text) {
    if (inner_) {
      if (fields_ == 0) {
        token_ = std::move(text);
      } else if (fields_ == 1) {
        spec_.merges.emplace_back(std::move(token_), std::move(text));
      }
      ++fields_;
      return true;
    }
    if (text.starts_with("#version")) {
      return true;
    }
    const std::size_t space = text.find(' ');
    if (space == std::string::npos ||
        text.find(' ', space + 1) != std::string::npos) {
      return unexpected(Message::verbatim("\"" + printable(text) + "\""));
    }
    spec_.merges.emplace_back(text.substr(0, space), text.substr(space + 1));
    return true;
  }

  bool add(Json value, const Message& given) {
    if (list_ != List::none || depth() == 0) {
      return unexpected(given);
    }
    Json& parent = open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
    } else {
      parent[keys_.back()] = std::move(value);
    }
    return true;
  }
  bool open_tree(Json empty) {
    open_.push_back(std::move(empty));
    keys_.emplace_back();
    return open();
  }
  bool close_tree() {
    Json closed = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    close();
    if (open_.empty()) {
      spec_.json = std::move(closed);
      return true;
    }
    return add(std::move(closed), "");
  }

  Place place() const override {
    switch (list_) {
      case List::vocabulary:
        return {"model.vocab." + printable(token_),
                "a whole number below 2^32"};
      case List::pieces:
        return {"model.vocab", "lists of a token and its score"};
      case List::merges:
        return {"model.merges",
                "pairs of tokens, as a list or with a space between them"};
      case List::none:
        return {"", "an object"};
    }
    return {};
  }

  TokenizerSpec& spec_;
  std::vector<Json> open_;         // the innermost last
  std::vector<std::string> keys_;  // the last key of each; of arrays ""
  List list_ = List::none;         // the list that is being read
  bool inner_ = false;             // in one of its entries
  std::size_t fields_ = 0;         // of that entry, so far
  std::string token_;
};

constexpr std::array<std::string_view, 9> kKeys = {
    "version",       "truncation",     "padding", "added_tokens", "normalizer",
    "pre_tokenizer", "post_processor", "decoder", "model"};

}  // namespace

Result<TokenizerSpec> parse_tokenizer_json(std::string_view text,
                                           const FileSubject& subject) {
  TokenizerSpec spec{.subject = subject};
  TokenizerFileEvents events(spec);
  HEADWISE_TRY(read_json(text, events, subject));
  for (std::size_t n = 0; n < spec.json.size(); ++n) {
    const std::string_view key = spec.json.key(n);
    if (std::ranges::find(kKeys, key) == kKeys.end()) {
      return JsonPart(&spec.json, subject, "")
          .fault(message("has the unknown key {}", printable(key)));
    }
  }
  return spec;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
