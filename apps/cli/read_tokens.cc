#include "read_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

#include "read_text.h"

namespace headwise::cli {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kExpected =
    "expected a list of lists of ids such as [[62, 13], [60]]";

Error bad(std::string_view name, const std::string& what) {
  return {ErrorCode::bad_data, fmt::format("tokens: {}: {}", name, what)};
}

// A value of the user's, short enough for a message. A list or an object is
// named only: writing it out could go as deep as the file says.
std::string shown(const Json& value) {
  if (value.is_structured()) {
    return value.is_array() ? "a list" : "an object";
  }
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= 40 ? text : text.substr(0, 37) + "...";
}

Result<TokenId> id_of(const Json& value, std::string_view name, std::size_t b,
                      std::size_t t) {
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() ||
                     value.get<std::uint64_t>() <=
                         std::uint64_t{std::numeric_limits<TokenId>::max()});
  if (!fits) {
    return bad(name, fmt::format("sequence {}, position {} is {}, expected a "
                                 "whole number",
                                 b, t, shown(value)));
  }
  return value.get<TokenId>();
}

Result<RaggedTokens> parse_json(std::string_view text, std::string_view name) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    return bad(name, fmt::format("is no valid JSON, {}", kExpected));
  }
  RaggedTokens tokens;
  for (std::size_t b = 0; b < json.size(); ++b) {
    if (!json[b].is_array()) {
      return bad(name, fmt::format("sequence {} is {}, {}", b, shown(json[b]),
                                   kExpected));
    }
    auto& sequence = tokens.emplace_back();
    for (std::size_t t = 0; t < json[b].size(); ++t) {
      const Result<TokenId> id = id_of(json[b][t], name, b, t);
      if (!id) {
        return id.error();
      }
      sequence.push_back(*id);
    }
  }
  return tokens;
}

constexpr std::string_view kBetween = " \t\r,";

Result<RaggedTokens> parse_lines(std::string_view text, std::string_view name) {
  RaggedTokens tokens;
  while (!text.empty()) {
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
        return bad(name, fmt::format("line {}: \"{}\" is no token id, expected "
                                     "whole numbers parted by spaces",
                                     tokens.size(), word.substr(0, 40)));
      }
      sequence.push_back(id);
      line.remove_prefix(word.size());
    }
  }
  return tokens;
}

}  // namespace

Result<RaggedTokens> parse_tokens(std::string_view text,
                                  std::string_view name) {
  if (text.starts_with("\xEF\xBB\xBF")) {  // a byte order mark
    text.remove_prefix(3);
  }
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) {
    return bad(name,
               fmt::format("is empty, {}, or one sequence a line", kExpected));
  }
  if (text[first] == '[') {
    return parse_json(text, name);
  }
  if (text[first] == '{' || text[first] == '"') {
    return bad(name, fmt::format(
                         "holds {}, {}",
                         text[first] == '{' ? "a JSON object" : "a JSON string",
                         kExpected));
  }
  return parse_lines(text, name);
}

Result<RaggedTokens> read_tokens(const std::string& path) {
  const auto text = read_text("tokens", path);
  return text ? parse_tokens(*text, name_of_text(path)) : text.error();
}

}  // namespace headwise::cli
