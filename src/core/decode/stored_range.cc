#include "decode/stored_range.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "attention/number_rows.h"
#include "base/check.h"
#include "headwise/base/half.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();

// The least magnitude that is stored as an infinity.
float end_of_range(DType stored) {
  switch (stored) {
    case DType::float16:
      return 65520;
    case DType::bfloat16:
      return 0x1.ffp127f;
    case DType::int8:
      return kLargest;  // 127 times its scale is rounded up
    default:
      return std::numeric_limits<float>::infinity();
  }
}

// The place of the first finite number of at least this magnitude.
template <class T>
std::optional<Extents<4>> first_beyond(const TensorView<T, 4>& view,
                                       float end) {
  const auto [B, L, H, D] = view.extents();
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t n = 0; n < L; ++n) {
      for (std::size_t h = 0; h < H; ++h) {
        for (std::size_t c = 0; c < D; ++c) {
          const float x = std::fabs(widened(view(b, n, h, c)));
          if (x >= end && x <= kLargest) {
            return Extents<4>{b, n, h, c};
          }
        }
      }
    }
  }
  return {};
}

Error does_not_fit(std::string_view operation, std::string_view argument,
                   const Extents<4>& place, float x, DType stored) {
  return value_error(
      operation, std::string(argument) + shape_text(place), number_text(x),
      message("a magnitude below {}: a cache of {} would store an infinity",
              number_text(end_of_range(stored)), name_of(stored)),
      ErrorCode::out_of_range);
}

}  // namespace
}  // namespace headwise::inline HEADWISE_ABI

namespace headwise::internal::inline HEADWISE_ABI {

Status check_stored_range(std::string_view operation, std::string_view argument,
                          const TensorArg& tensor, DType stored) {
  const float end = end_of_range(stored);
  if (!tensor.given() || end > kLargest || tensor.dtype() == stored) {
    return ok();
  }
  return visit_numbers<const void>(tensor, [&](const auto& view) -> Status {
    const auto place = first_beyond(view, end);
    if (!place) {
      return ok();
    }
    const auto [b, n, h, c] = *place;
    return does_not_fit(operation, argument, *place, widened(view(b, n, h, c)),
                        stored);
  });
}

}  // namespace headwise::internal::inline HEADWISE_ABI
