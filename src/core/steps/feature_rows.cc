#include "steps/feature_rows.h"

#include <string>

#include "base/check.h"

namespace headwise::inline HEADWISE_ABI {

Status check_feature_rows(std::string_view operation, std::string_view name,
                          const TensorView<const float, 2>& rows,
                          const Extents<2>& expected) {
  HEADWISE_TRY(
      check_shape(operation, name, rows.extents(), "(N, E)", expected));
  if (rows.extent(1) > 1 && rows.stride(1) != 1) {
    return argument_error(
        operation, name, message("has stride {} on its axis E", rows.stride(1)),
        "1");
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
