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

  // Whether the text is a vocab.json: the first value is an id.
  bool is_vocabulary() const { return is_vocabulary_; }

  bool null() override { return value(nullptr); }
  bool boolean(bool is_true) override { return value(is_true); }
  // -0 is no id.
  bool number_integer(std::int64_t number) override {
    return value(number == 0 ? Json(-0.0) : Json(number));
  }
  bool number_unsigned(std::uint64_t number) override { return value(number); }
  bool number_float(double number, const std::string& /*text*/) override {
    return value(number);
  }
  bool string(std::string& text) override {
    if (list_ == List::none) {
      return add(text);
    }
    if (in_entry_ && fields_ == 0) {
      token_ = std::move(text);
    } else if (list_ == List::merges && in_entry_ && fields_ == 1) {
      spec_.merges.emplace_back(std::move(token_), std::move(text));
    } else if (list_ != List::merges || in_entry_ || !add_merge(text, spec_)) {
      return unexpected(Message::verbatim("\"" + printable(text) + "\""));
    }
    ++fields_;
    return true;
  }
  bool key(std::string& text) override {
    if (list_ == List::vocabulary) {
      token_ = std::move(text);
      return true;
    }
    keys_.back() = text;
    return add_key(std::move(text));
  }
  bool start_object(std::size_t /*elements*/) override {
    if (list_ != List::none) {
      return unexpected("an object");
    }
    if (!is_model("vocab")) {
      return open_tree(Json::object());
    }
    list_ = List::vocabulary;
    return true;
  }
  bool end_object() override {
    return list_ == List::vocabulary && !is_vocabulary_ ? end_list()
                                                        : close_tree();
  }
  bool start_array(std::size_t /*elements*/) override {
    if (list_ == List::none && (is_model("vocab") || is_model("merges"))) {
      list_ = is_model("vocab") ? List::pieces : List::merges;
      return true;
    }
    if (list_ == List::none && depth() > 0) {
      return open_tree(Json::array());
    }
    fields_ = 0;
    return (list_ != List::none && list_ != List::vocabulary &&
            !std::exchange(in_entry_, true)) ||
           unexpected("an array");
  }
  bool end_array() override {
    if (list_ == List::none) {
      return close_tree();
    }
    if (in_entry_ && fields_ != 2) {
      return unexpected(message("a list of length {}", fields_));
    }
    return std::exchange(in_entry_, false) || end_list();
  }

 private:
  enum class List { none, vocabulary, pieces, merges };

  // Whether the value of model.NAME begins.
  bool is_model(std::string_view name) const {
    return keys_.size() == 2 && keys_[0] == "model" && keys_[1] == name;
  }
  bool end_list() {
    list_ = List::none;
    return true;
  }

  // A value that is no text.
  bool value(Json value) {
    std::uint64_t id = 0;
    double score = 0;
    const bool is_id =
        value.get(id) && id <= std::numeric_limits<std::uint32_t>::max();
    if (is_id && list_ == List::none && open_.size() == 1 &&
        open_[0].size() == 0) {
      is_vocabulary_ = true;
      list_ = List::vocabulary;
      token_ = keys_[0];
    }
    if (list_ == List::none) {
      return add(std::move(value));
    }
    if (list_ == List::vocabulary && is_id) {
      spec_.vocabulary.emplace_back(std::move(token_),
                                    static_cast<std::uint32_t>(id));
      return true;
    }
    if (list_ == List::pieces && in_entry_ && fields_ == 1 &&
        value.get(score)) {
      spec_.pieces.emplace_back(std::move(token_), score);
      ++fields_;
      return true;
    }
    return unexpected(Message::verbatim(value.dump()));
  }

  bool add(Json value) {
    if (depth() == 0) {
      return unexpected("another value");
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
    if (!open_.empty()) {
      return add(std::move(closed));
    }
    spec_.json = std::move(closed);
    return true;
  }

  Place place() const override {
    switch (list_) {
      case List::vocabulary:
        return {(is_vocabulary_ ? "" : "model.vocab.") + printable(token_),
                "a whole number below 2^32"};
      case List::pieces:
        return {"model.vocab", "lists of a token and its score"};
      case List::merges:
        return {"model.merges",
                "pairs of tokens, as a list or with a space between them"};
      case List::none:
        break;
    }
    return {"", "an object"};
  }

  TokenizerSpec& spec_;
  std::vector<Json> open_;         // the innermost last
  std::vector<std::string> keys_;  // the last key of each; of arrays ""
  List list_ = List::none;         // the list that is being read
  bool is_vocabulary_ = false;
  bool in_entry_ = false;   // of the list
  std::size_t fields_ = 0;  // of that entry, so far
  std::string token_;
};

Status check_keys(const TokenizerSpec& spec) {
  constexpr std::array<std::string_view, 9> kKeys = {
      "version",        "truncation", "padding",
      "added_tokens",   "normalizer", "pre_tokenizer",
      "post_processor", "decoder",    "model"};
  for (std::size_t n = 0; n < spec.json.size(); ++n) {
    if (std::ranges::find(kKeys, spec.json.key(n)) == kKeys.end()) {
      return spec.subject.bad_data(
          message("has the unknown key {}", printable(spec.json.key(n))));
    }
  }
  return ok();
}

}  // namespace

bool add_merge(std::string_view text, TokenizerSpec& spec) {
  const std::size_t space = text.find(' ');
  if (text.starts_with("#version")) {
    return true;
  }
  if (space == std::string_view::npos ||
      text.find(' ', space + 1) != std::string_view::npos) {
    return false;
  }
  spec.merges.emplace_back(text.substr(0, space), text.substr(space + 1));
  return true;
}

Result<TokenizerSpec> parse_tokenizer_json(std::string_view text,
                                           const FileSubject& subject) {
  TokenizerSpec spec{.subject = subject};
  TokenizerFileEvents events(spec);
  HEADWISE_TRY(read_json(text, events, subject));
  if (events.is_vocabulary()) {
    return subject.bad_data("is a vocabulary", "a tokenizer.json");
  }
  HEADWISE_TRY(check_keys(spec));
  return spec;
}

Result<TokenizerSpec> parse_any_json(std::string_view text,
                                     const FileSubject& subject) {
  TokenizerSpec spec{.subject = subject};
  TokenizerFileEvents events(spec);
  HEADWISE_TRY(read_json(text, events, subject));
  if (spec.json.find("config") || spec.json.find("vocab")) {
    return tekken_spec(spec.json, subject);
  }
  HEADWISE_TRY(events.is_vocabulary() ? complete_vocabulary(spec)
                                      : check_keys(spec));
  return spec;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
