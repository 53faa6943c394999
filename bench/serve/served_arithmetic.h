// The arithmetic that a harness asks for by name.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "headwise/base/arithmetic.h"
#include "headwise/base/result.h"

namespace headwise::cli {

// exact where none is named. Errors: bad_data; `file` is where the name was.
inline Result<Arithmetic> served_arithmetic(std::string_view file,
                                            const std::string& name) {
  for (const Arithmetic each : {Arithmetic::exact, Arithmetic::bf16}) {
    if (name == name_of(each)) {
      return each;
    }
  }
  if (name.empty()) {
    return Arithmetic::exact;
  }
  return Error{
      ErrorCode::bad_data,
      {.given = fmt::format("{}: arithmetic is {}, expected exact or bf16",
                            file, name)}};
}

}  // namespace headwise::cli
