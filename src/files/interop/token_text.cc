#include "headwise/interop/token_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>

#include "base/out_of_memory.h"
#include "headwise/interop/file_subject.h"
#include "interop/json_events.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kExpected =
    "a list of lists of ids such as [[62, 13], [60]]";

FileSubject subject_of_tokens(std::string_view name) {
  return {"tokens", std::string(name)};
}

Message too_many() {
  return message("has more than {} sequences", kMostSequences);
}

// Room for the sequences of `text`, of which each but the first comes after a
// `mark`: growing step by step would take three times the memory.
void reserve(RaggedTokens& tokens, std::string_view text, char mark) {
  const auto marks = static_cast<std::size_t>(std::ranges::count(text, mark));
  tokens.reserve(std::min(marks + 1, kMostSequences));
}

// [[62, 13], [60]] as it is read.
class TokenEvents : public JsonEvents {
 public:
  explicit TokenEvents(RaggedTokens& tokens) : tokens_(tokens) {}

  bool number_integer(std::int64_t value) override {
    return depth_ == 2 ? take(value) : unexpected("a number");
  }
  bool number_unsigned(std::uint64_t value) override {
    if (depth_ != 2) {
      return unexpected("a number");
    }
    return value > std::uint64_t{std::numeric_limits<TokenId>::max()}
               ? unexpected("a number beyond 2^63 - 1")
               : take(static_cast<TokenId>(value));
  }
  bool start_array(std::size_t elements) override {
    if (depth_ == 2) {
      return JsonEvents::start_array(elements);
    }
    if (depth_ == 1) {
      if (tokens_.size() == kMostSequences) {
        return refuse({"", too_many()});
      }
      tokens_.emplace_back();
    }
    ++depth_;
    return true;
  }
  // There are no objects, so there are no keys.
  bool key(std::string& /*key*/) override { return false; }
  bool end_array() override {
    --depth_;
    return true;
  }

 private:
  bool take(TokenId id) {
    tokens_.back().push_back(id);
    return true;
  }

  Place place() const override {
    return depth_ == 2 ? Place{"[" + std::to_string(tokens_.size() - 1) + "][" +
                                   std::to_string(tokens_.back().size()) + "]",
                               "a whole number"}
                       : Place{"[" + std::to_string(tokens_.size()) + "]",
                               "a list of ids such as [62, 13]"};
  }

  RaggedTokens& tokens_;
  int depth_ = 0;  // of lists
};

Result<RaggedTokens> parse_json(std::string_view text, std::string_view name) {
  RaggedTokens tokens;
  reserve(tokens, text, '[');
  TokenEvents events(tokens);
  HEADWISE_TRY(read_json(text, events, subject_of_tokens(name)));
  return tokens;
}

constexpr std::string_view kBetween = " \t\r,";

Result<RaggedTokens> parse_lines(std::string_view text, std::string_view name) {
  RaggedTokens tokens;
  reserve(tokens, text, '\n');
  while (!text.empty()) {
    if (tokens.size() == kMostSequences) {
      return subject_of_tokens(name).bad_data(too_many());
    }
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    auto& sequence = tokens.emplace_back();
    for (;;) {
      line.remove_prefix(
          std::min(line.find_first_not_of(kBetween), line.size()));
      if (line.empty()) {
        break;
      }
      const std::string_view word =
          line.substr(0, line.find_first_of(kBetween));
      TokenId id = 0;
      const auto [stop, error] =
          std::from_chars(word.data(), word.data() + word.size(), id);
      if (error != std::errc{} || stop != word.data() + word.size()) {
        return subject_of_tokens(name)
            .of_entry("line " + std::to_string(tokens.size()))
            .bad_data(message("has \"{}\", which is not a token id",
                              word.substr(0, 40)),
                      "whole numbers separated by spaces");
      }
      sequence.push_back(id);
      line.remove_prefix(word.size());
    }
  }
  return tokens;
}

std::string_view without_mark(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  return text.substr(text.starts_with(kByteOrderMark) ? kByteOrderMark.size()
                                                      : 0);
}

}  // namespace

std::vector<std::string_view> text_lines(std::string_view text) {
  text = without_mark(text);
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Result<RaggedTokens> parse_tokens(std::string_view text,
                                  std::string_view name) try {
  text = without_mark(text);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) {
    return subject_of_tokens(name).bad_data(
        "is empty", message("{}, or one sequence a line", Message(kExpected)));
  }
  if (text[first] == '[') {
    return parse_json(text, name);
  }
  if (text[first] == '{' || text[first] == '"') {
    return subject_of_tokens(name).bad_data(
        text[first] == '{' ? "holds a JSON object" : "holds a JSON string",
        kExpected);
  }
  return parse_lines(text, name);
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
