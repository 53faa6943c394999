#include "tokenizer/tekken_file.h"

#include <array>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>

#include "interop/error_text.h"
#include "interop/json_events.h"
#include "tokenizer/base64.h"
#include "tokenizer/spec_parts.h"
#include "tokenizer/tiktoken_file.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// What a file without special_tokens has.
constexpr auto kFirstSpecialTexts =
    std::to_array<std::string_view>({"<unk>",
                                     "<s>",
                                     "</s>",
                                     "[INST]",
                                     "[/INST]",
                                     "[AVAILABLE_TOOLS]",
                                     "[/AVAILABLE_TOOLS]",
                                     "[TOOL_RESULTS]",
                                     "[/TOOL_RESULTS]",
                                     "[TOOL_CALLS]",
                                     "[IMG]",
                                     "<pad>",
                                     "[IMG_BREAK]",
                                     "[IMG_END]",
                                     "[PREFIX]",
                                     "[MIDDLE]",
                                     "[SUFFIX]",
                                     "[SYSTEM_PROMPT]",
                                     "[/SYSTEM_PROMPT]",
                                     "[TOOL_CONTENT]"});

struct TekkenFile {
  std::string pattern;
  std::optional<std::uint64_t> vocabulary;  // ids
  std::optional<std::uint64_t> special;     // ids before those of the ranks
  std::vector<BytesToken> tokens;
  std::vector<SpecialText> special_texts;
  bool has_special_texts = false;
};

// The lists are long: only what is used of them is kept.
class TekkenEvents : public NestedJsonEvents {
 public:
  explicit TekkenEvents(TekkenFile& file) : file_(file) {}

  bool null() override { return depth() > 0 || unexpected("null"); }
  bool boolean(bool /*value*/) override { return depth() > 0; }
  bool number_integer(std::int64_t /*value*/) override { return depth() > 0; }
  bool number_float(double /*value*/, const std::string& /*text*/) override {
    return depth() > 0;
  }
  bool number_unsigned(std::uint64_t value) override {
    if (depth() == 2 && top_ == "config") {
      if (key_ == "default_vocab_size") {
        file_.vocabulary = value;
      } else if (key_ == "default_num_special_tokens") {
        file_.special = value;
      }
    } else if (depth() == 3 && key_ == "rank") {
      rank_ = value;
    }
    return depth() > 0 || unexpected("a number");
  }
  bool string(std::string& value) override {
    if (depth() == 2 && top_ == "config" && key_ == "pattern") {
      file_.pattern = std::move(value);
    } else if (depth() == 3 && key_ == text_key()) {
      text_ = std::move(value);
    }
    return depth() > 0 || unexpected("a text");
  }
  bool key(std::string& key) override {
    key_ = key;
    top_ = depth() == 1 ? key : top_;
    return add_key(std::move(key));
  }
  bool start_object(std::size_t /*elements*/) override {
    if (depth() == 2) {
      rank_.reset();
      text_.reset();
    }
    return open();
  }
  bool end_object() override {
    const bool entry = depth() == 3 && !text_key().empty();
    return close() && (!entry || add_entry());
  }
  bool start_array(std::size_t /*elements*/) override {
    file_.has_special_texts =
        file_.has_special_texts || (depth() == 1 && top_ == "special_tokens");
    return depth() > 0 ? open() : unexpected("an array");
  }
  bool end_array() override { return close(); }

 private:
  std::string_view text_key() const {
    return top_ == "vocab"            ? "token_bytes"
           : top_ == "special_tokens" ? "token_str"
                                      : "";
  }
  bool add_entry() {
    constexpr std::uint64_t kMostRank =
        std::numeric_limits<std::int32_t>::max();
    if (!rank_ || !text_ || *rank_ > kMostRank) {
      return refuse({top_, "has an entry of another form",
                     message("a rank below 2^31 and {}", text_key())});
    }
    const auto rank = static_cast<std::uint32_t>(*rank_);
    if (top_ == "special_tokens") {
      file_.special_texts.push_back({*std::move(text_), rank});
      return true;
    }
    auto bytes = decode_base64(*text_);
    if (!bytes) {
      return refuse({top_,
                     message("has \"{}\" for rank {}", printable(*text_), rank),
                     "base64"});
    }
    file_.tokens.push_back({*std::move(bytes), rank});
    return true;
  }
  Place place() const override { return {"", "an object"}; }

  TekkenFile& file_;
  std::string top_;  // the key at the top, and the innermost
  std::string key_;
  std::optional<std::uint64_t> rank_;  // of the entry that is being read
  std::optional<std::string> text_;
};

// Adds a token for each id that the file leaves out.
Status fill_special_texts(TekkenFile& file, const FileSubject& subject) {
  std::vector<SpecialText>& texts = file.special_texts;
  if (!file.has_special_texts) {
    for (const std::string_view text : kFirstSpecialTexts) {
      texts.push_back(
          {std::string(text), static_cast<std::uint32_t>(texts.size())});
    }
  }
  const auto about = subject.of_entry("special_tokens");
  if (texts.size() > *file.special) {
    return about.bad_data(message("has length {}", texts.size()),
                          message("at most {}", *file.special));
  }
  std::unordered_set<std::string> seen;
  for (std::size_t n = 0; n < texts.size(); ++n) {
    if (texts[n].id != n) {
      return about.bad_data(message("has rank {} at index {}", texts[n].id, n),
                            "ranks in order, from 0 on");
    }
    if (texts[n].text.empty() || !seen.insert(texts[n].text).second) {
      return about.bad_data(
          message("has \"{}\" for rank {}", printable(texts[n].text), n),
          "texts that differ");
    }
  }
  while (texts.size() < *file.special) {
    const auto id = static_cast<std::uint32_t>(texts.size());
    texts.push_back({"<SPECIAL_" + std::to_string(id) + ">", id});
  }
  return ok();
}

// The file may have more ranks than the model has ids for.
Status drop_tokens(TekkenFile& file, const FileSubject& subject) {
  const auto about = subject.of_entry("config");
  if (file.pattern.empty() || !file.vocabulary || !file.special) {
    return about.bad_data("is incomplete",
                          "pattern, default_vocab_size and "
                          "default_num_special_tokens");
  }
  if (*file.special > *file.vocabulary ||
      *file.vocabulary - *file.special > file.tokens.size()) {
    return about.bad_data(
        message("has {} ids, {} of them special, for {} ranks",
                *file.vocabulary, *file.special, file.tokens.size()));
  }
  const std::uint64_t most = *file.vocabulary - *file.special;
  std::erase_if(file.tokens,
                [&](const BytesToken& token) { return token.rank >= most; });
  return file.tokens.size() == most
             ? ok()
             : about.bad_data(message("has {} ids for ranks", most),
                              "each rank below that once");
}

}  // namespace

Result<TokenizerSpec> parse_tekken(std::string_view text,
                                   const FileSubject& subject) {
  TekkenFile file;
  TekkenEvents events(file);
  HEADWISE_TRY(read_json(text, events, subject));
  HEADWISE_TRY(drop_tokens(file, subject));
  HEADWISE_TRY(fill_special_texts(file, subject));
  HEADWISE_ASSIGN(auto spec,
                  ranks_spec(std::move(file.tokens),
                             static_cast<std::uint32_t>(*file.special),
                             file.pattern, file.special_texts, subject));
  Json& added = spec.json["added_tokens"];
  for (std::size_t n = 0; n < added.size(); ++n) {
    added[n]["in_text"] = false;
  }
  if (file.special_texts.size() > 1) {
    const SpecialText& first = file.special_texts[1];
    spec.json["post_processor"] =
        template_processing(NamedToken{first.text, first.id}, {});
  }
  return spec;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
