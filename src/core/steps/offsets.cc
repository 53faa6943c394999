#include "headwise/steps/offsets.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/out_of_memory.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Status check_one(TensorView<const std::int64_t, 1> offsets, std::size_t rows,
                 const std::string& name, std::string_view operation) {
  const auto place = [&](std::size_t n) {
    return name + "[" + std::to_string(n) + "]";
  };
  const auto total = static_cast<std::int64_t>(rows);
  const std::size_t last = offsets.extent(0) - 1;
  if (offsets(0) != 0) {
    return value_error(operation, place(0), std::to_string(offsets(0)), "0",
                       ErrorCode::out_of_range);
  }
  for (std::size_t n = 1; n <= last; ++n) {
    if (offsets(n) < offsets(n - 1)) {
      return value_error(
          operation, place(n), std::to_string(offsets(n)),
          message("{} = {} or more", place(n - 1), offsets(n - 1)),
          ErrorCode::out_of_range);
    }
  }
  if (offsets(last) != total) {
    return value_error(operation, place(last), std::to_string(offsets(last)),
                       message("the number of rows, {}", total),
                       ErrorCode::out_of_range);
  }
  return ok();
}

}  // namespace

Status Offsets::check(std::size_t queries, std::size_t keys,
                      std::string_view operation) const try {
  if (query.extent(0) == 0) {
    return value_error(operation, "offsets", "empty",
                       "B + 1 numbers, the first 0", ErrorCode::shape_mismatch);
  }
  const bool same = query.data() == key.data();
  HEADWISE_TRY(check_shape(operation, same ? "offsets" : "offsets.key",
                           key.extents(), "(B + 1)", {{query.extent(0)}}));
  HEADWISE_TRY(
      check_one(query, queries, same ? "offsets" : "offsets.query", operation));
  return check_one(key, keys, same ? "offsets" : "offsets.key", operation);
} catch (...) {
  return caught_out_of_memory();
}

std::size_t longest(TensorView<const std::int64_t, 1> offsets) {
  std::int64_t most = 0;
  for (std::size_t b = 0; b + 1 < offsets.extent(0); ++b) {
    most = std::max(most, offsets(b + 1) - offsets(b));
  }
  return static_cast<std::size_t>(most);
}

}  // namespace headwise::inline HEADWISE_ABI
