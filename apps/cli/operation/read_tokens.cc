#include "read_tokens.h"

#include "headwise/interop/token_text.h"
#include "shell/error_of_option.h"
#include "shell/read_text.h"

namespace headwise::cli {

Result<RaggedTokens> read_tokens(std::string_view option,
                                 const std::string& path) {
  HEADWISE_ASSIGN(const auto text, read_text(option, path));
  auto tokens = parse_tokens(text, name_of_text(path));
  return tokens ? std::move(tokens) : error_of_option(option, tokens.error());
}

Result<RaggedTokens> read_ids_or_file(std::string_view option,
                                      const std::string& given) {
  if (given.find_first_not_of("0123456789, ") != std::string::npos) {
    return read_tokens(option, given);
  }
  auto ids = parse_tokens(given, option);
  return ids ? std::move(ids) : error_of_option(option, ids.error());
}

}  // namespace headwise::cli
