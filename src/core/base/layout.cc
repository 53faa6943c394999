#include "headwise/base/layout.h"

#include <string>

#include "base/out_of_memory.h"
#include "headwise/base/checked_product.h"

namespace headwise::inline HEADWISE_ABI::detail {

Status check_element_count(std::string_view operation, std::size_t count,
                           std::string_view axes,
                           const Extents<4>& extents) try {
  const auto expected = checked_product(extents);
  if (expected == count) {
    return ok();
  }
  std::string product;
  for (const std::size_t extent : extents) {
    product += (product.empty() ? "" : " * ") + std::to_string(extent);
  }
  return Error(
      ErrorCode::shape_mismatch,
      ErrorDetails{.operation = std::string(operation),
                   .argument = "data",
                   .given = message("has {} elements", count),
                   .expected = std::string(axes) + " = " + product +
                               (expected ? " = " + std::to_string(*expected)
                                         : std::string())});
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI::detail
