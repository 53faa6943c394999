#include "tokenizer/replaced_text.h"

#include <array>
#include <cstddef>
#include <utility>

#include "unicode/characters.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

// In the order in which the reference replaces them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11>
    kCleanedUp = {{{" .", "."},
                   {" ?", "?"},
                   {" !", "!"},
                   {" ,", ","},
                   {" ' ", "'"},
                   {" n't", "n't"},
                   {" 'm", "'m"},
                   {" do not", " don't"},
                   {" 's", "'s"},
                   {" 've", "'ve"},
                   {" 're", "'re"}}};

std::string with_between(std::string_view text, std::string_view to) {
  std::string result(to);
  while (!text.empty()) {
    const std::size_t bytes = first_character(text).bytes;
    result.append(text.substr(0, bytes)).append(to);
    text.remove_prefix(bytes);
  }
  return result;
}

}  // namespace

void replace_all(std::string& text, std::string_view from,
                 std::string_view to) {
  if (from.empty()) {
    text = with_between(text, to);
    return;
  }
  std::size_t found = text.find(from);
  if (found == std::string::npos) {
    return;
  }
  std::string result;
  std::size_t at = 0;
  for (; found != std::string::npos; found = text.find(from, at)) {
    result.append(text, at, found - at).append(to);
    at = found + from.size();
  }
  result.append(text, at);
  text = std::move(result);
}

void clean_up_spaces(std::string& text) {
  if (text.find(' ') == std::string::npos) {
    return;
  }
  for (const auto& [from, to] : kCleanedUp) {
    replace_all(text, from, to);
  }
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
