// Errors of the library in the words of the command line: what a function calls
// an argument is an option here.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>

#include "headwise/base/result.h"

namespace headwise::cli {

// The error of reading or using what `option` names: `--data: a.tsv: line 2:
// ..` in place of the name of a function.
inline Error error_of_option(std::string_view option, const Error& error) {
  if (error.code() == ErrorCode::out_of_memory) {
    return error;
  }
  ErrorDetails details = error.details();
  details.operation = option;
  return {error.code(), std::move(details)};
}

// The error of an argument that has the name of its option: `--epochs is ..` in
// place of `train: epochs is ..`.
inline Error error_of_argument(const Error& error) {
  if (error.details().argument.empty()) {
    return error;
  }
  ErrorDetails details = error.details();
  details.operation.clear();
  std::ranges::replace(details.argument, '_', '-');
  details.argument.insert(0, "--");
  return {error.code(), std::move(details)};
}

}  // namespace headwise::cli
