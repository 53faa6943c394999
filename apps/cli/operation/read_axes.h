// What a file of heads was read as: the two layouts often fit one shape.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"

namespace headwise::cli {

// "query: B=2 L=20 H=8 D=64, layout blhd" and a line end. `shape` is that of
// the file, whose first axes may be missing: N (layers) and B.
std::string read_axes(std::string_view name,
                      const std::vector<std::size_t>& shape, bool heads_first,
                      bool ragged);

// The error of `check(heads_first)`, with a hint where the other layout fits.
template <class Check>
Status check_layout(bool heads_first, const Check& check) {
  const Status s = check(heads_first);
  if (s || !check(!heads_first)) {
    return s;
  }
  ErrorDetails details = s.error().details();
  details.hint = heads_first ? "the shapes fit with --layout blhd"
                             : "the shapes fit with --layout bhld";
  return Error{s.error().code(), std::move(details)};
}

}  // namespace headwise::cli
