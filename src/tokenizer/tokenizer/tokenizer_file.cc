#include "tokenizer/tokenizer_file.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "interop/error_text.h"
#include "interop/folder.h"
#include "interop/gguf.h"
#include "interop/input_file.h"
#include "interop/json_events.h"
#include "interop/mapped_file.h"
#include "interop/read_bytes.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// A vocabulary has 100,000s of entries: they go straight into the lists of the
// spec. Everything else becomes a tree.
class TokenizerFileEvents : public NestedJsonEvents {
 public:
  explicit TokenizerFileEvents(TokenizerSpec& spec) : spec_(spec) {}

  // Whether the text is a vocab.json: the first value is an id.
  bool is_vocabulary() const { return is_vocabulary_; }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override {
    return add(value == 0 ? Json(-0.0) : Json(value));  // no id
  }
  bool number_unsigned(std::uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string& /*text*/) override {
    return add(value);
  }
  bool string(std::string& value) override { return add(value); }
  bool key(std::string& value) override {
    keys_.back() = std::move(value);
    return list() != List::none || add_key(keys_.back());
  }
  bool start_object(std::size_t /*elements*/) override {
    return open_tree(Json::object());
  }
  bool end_object() override { return close_tree(); }
  bool start_array(std::size_t /*elements*/) override {
    return open_.empty() ? unexpected("an array") : open_tree(Json::array());
  }
  bool end_array() override { return close_tree(); }

 private:
  enum class List { none, vocabulary, pieces, merges };

  // The list that the next value is an entry of.
  List list() const {
    if (is_vocabulary_ && open_.size() == 1) {
      return List::vocabulary;
    }
    if (open_.size() != 3 || !is_list()) {
      return List::none;
    }
    return keys_[1] == "merges"       ? List::merges
           : open_.back().is_object() ? List::vocabulary
                                      : List::pieces;
  }
  bool is_list() const {
    return keys_[0] == "model" && (keys_[1] == "vocab" || keys_[1] == "merges");
  }

  bool add(Json value) {
    std::uint64_t id = 0;
    if (open_.empty()) {
      return unexpected("another value");
    }
    is_vocabulary_ = is_vocabulary_ || (open_.size() == 1 &&
                                        open_[0].size() == 0 && value.get(id));
    if (list() != List::none) {
      return add_entry(value) ||
             unexpected(Message::verbatim(printable(value.dump())));
    }
    Json& parent = open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
    } else {
      parent[keys_.back()] = std::move(value);
    }
    return true;
  }
  bool add_entry(const Json& value) {
    std::uint64_t id = 0;
    double score = 0;
    std::string text;
    std::vector<std::string> pair;
    const bool is_pair = value.is_array() && value.size() == 2;
    if (list() == List::vocabulary) {
      if (!value.get(id) || id > std::numeric_limits<std::uint32_t>::max()) {
        return false;
      }
      spec_.vocabulary.emplace_back(std::move(keys_.back()),
                                    static_cast<std::uint32_t>(id));
    } else if (list() == List::pieces) {
      if (!is_pair || !value[0].get(text) || !value[1].get(score)) {
        return false;
      }
      spec_.pieces.emplace_back(std::move(text), score);
    } else if (is_pair && value.get(pair)) {
      spec_.merges.emplace_back(std::move(pair[0]), std::move(pair[1]));
    } else {
      return open_.back().is_array() && value.get(text) &&
             add_merge(text, spec_);
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
    // The entries of a list are in the spec.
    return (open_.size() == 2 && is_list()) || add(std::move(closed));
  }

  Place place() const override {
    switch (list()) {
      case List::vocabulary:
        return {
            (is_vocabulary_ ? "" : "model.vocab.") + printable(keys_.back()),
            "a whole number below 2^32"};
      case List::pieces:
        return {"model.vocab", "lists of a token and its score"};
      case List::merges:
        return {"model.merges",
                "pairs of tokens, as a list or with a space between them"};
      default:
        return {"", "an object"};
    }
  }

  TokenizerSpec& spec_;
  std::vector<Json> open_;         // the innermost last
  std::vector<std::string> keys_;  // the last key of each; of arrays ""
  bool is_vocabulary_ = false;
};

Result<TokenizerSpec> read_whole(InputFile& file) {
  HEADWISE_ASSIGN(const auto whole, read_at_most(file, kMostTokenizerBytes));
  const std::string_view bytes = text_of(whole);
  const FileSubject& subject = file.subject();
  if (is_sentencepiece(bytes)) {
    HEADWISE_ASSIGN(const auto settings,
                    read_settings(subject.file, "tokenizer_config.json"));
    return parse_sentencepiece(bytes, subject, settings.part());
  }
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && bytes[first] == '{') {
    return parse_tokenizer_json(bytes, subject, /*or_others=*/true);
  }
  if (is_tiktoken(bytes)) {
    return parse_tiktoken(bytes, subject);
  }
  if (bytes.starts_with("#version")) {
    return subject.bad_data("has merges alone",
                            "the vocabulary that they belong to");
  }
  return parse_vocab_txt(bytes, subject);
}

Result<std::string> find_in_folder(const std::string& folder) {
  for (const std::string_view name : kTokenizerFiles) {
    std::string path = folder + "/" + std::string(name);
    HEADWISE_ASSIGN(const bool found, is_regular_file(kReadTokenizer, path));
    if (found) {
      return path;
    }
  }
  return FileSubject{std::string(kReadTokenizer), folder}.bad_data(
      "has no tokenizer", Message::verbatim(list_text(kTokenizerFiles, ", ")));
}

}  // namespace

Result<TokenizerSpec> parse_tokenizer_json(std::string_view text,
                                           const FileSubject& subject,
                                           bool or_others) {
  TokenizerSpec spec{.subject = subject};
  TokenizerFileEvents events(spec);
  HEADWISE_TRY(read_json(text, events, subject));
  if (or_others && (spec.json.find("config") || spec.json.find("vocab"))) {
    return tekken_spec(spec.json, subject);
  }
  if (events.is_vocabulary()) {
    HEADWISE_TRY(or_others ? complete_vocabulary(spec)
                           : Status(subject.bad_data("is a vocabulary",
                                                     "a tokenizer.json")));
    return spec;
  }
  for (std::size_t n = 0; n < spec.json.size(); ++n) {
    if (std::ranges::count(kTokenizerKeys, spec.json.key(n)) == 0) {
      return subject.bad_data(
          message("has the unknown key {}", printable(spec.json.key(n))));
    }
  }
  return spec;
}

Result<TokenizerSpec> read_tokenizer_spec(const std::string& path) {
  HEADWISE_TRY(check_path(kReadTokenizer, path));
  HEADWISE_ASSIGN(const auto kind, kind_behind_links(kReadTokenizer, path));
  std::string name = path;
  if (kind == EntryKind::folder) {
    HEADWISE_ASSIGN(name, find_in_folder(path));
  }
  HEADWISE_ASSIGN(auto file, InputFile::open(kReadTokenizer, name));
  std::optional<Result<TokenizerSpec>> spec;
  if (file.size()) {
    HEADWISE_ASSIGN(auto mapped, InputFile::open(kReadTokenizer, name));
    HEADWISE_TRY(with_mapped_bytes(std::move(mapped), [&](const auto bytes) {
      if (text_of(bytes).starts_with(kGgufMagic)) {
        spec = parse_gguf_tokenizer(text_of(bytes), file.subject());
      }
    }));
  }
  return spec ? *std::move(spec) : read_whole(file);
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
