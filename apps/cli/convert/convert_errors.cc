#include "convert_errors.h"

#include <map>
#include <string_view>
#include <utility>

#include "shell/error_of_option.h"

namespace headwise::cli {

Error in_convert_words(const Error& error) {
  const std::map<std::string_view, std::string_view> options = {
      {"as_layer", "--as-layer"}, {"attention_only", "--attention-only"},
      {"layer", "--layer"},       {"num_heads", "--num-heads"},
      {"prefix", "--to-prefix"},  {"qk_norm", "--qk-norm"}};
  ErrorDetails said = error.details();
  const auto option = options.find(said.argument);
  if (option == options.end()) {
    return error_of_option("convert", error);
  }
  said.operation.clear();
  said.file.clear();
  said.argument = option->second;
  return {error.code(), std::move(said)};
}

}  // namespace headwise::cli
