// Any bytes are a ragged batch of token ids or an error; what is read is read
// again from either way to write it.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "headwise/interop/token_text.h"

namespace {

using headwise::RaggedTokens;

std::string as_json(const RaggedTokens& tokens) {
  std::string text = "[";
  for (const auto& sequence : tokens) {
    text += text.size() > 1 ? ",[" : "[";
    for (const headwise::TokenId id : sequence) {
      text += (text.ends_with('[') ? "" : ",") + std::to_string(id);
    }
    text += "]";
  }
  return text + "]";
}

std::string as_lines(const RaggedTokens& tokens) {
  std::string text;
  for (const auto& sequence : tokens) {
    for (const headwise::TokenId id : sequence) {
      text += std::to_string(id) + " ";
    }
    text += "\n";
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tokens = headwise::parse_tokens(text, "fuzz");
  if (!tokens) {
    if (!tokens.error().message().starts_with("tokens: fuzz: ")) {
      std::abort();
    }
    return 0;
  }
  const auto json = headwise::parse_tokens(as_json(*tokens), "json");
  if (!json || *json != *tokens) {
    std::abort();
  }
  const std::string lines = as_lines(*tokens);
  if (lines.find_first_not_of('\n') == std::string::npos) {
    return 0;  // nothing, which is no text of tokens
  }
  const auto again = headwise::parse_tokens(lines, "lines");
  if (!again || *again != *tokens) {
    std::abort();
  }
  return 0;
}
