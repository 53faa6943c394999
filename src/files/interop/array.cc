#include "headwise/interop/array.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/base/half.h"
#include "interop/gather.h"
#include "interop/mask_numbers.h"
#include "interop/with_type.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

float rounded(float number) { return number; }
// A float64 beyond float32's range becomes infinity; the conversion of the
// language is defined for those inside only.
float rounded(double number) {
  constexpr double kFirstBeyond = 0x1.ffffffp127;  // ties to even: to infinity
  if (std::abs(number) >= kFirstBeyond) {
    return std::copysign(std::numeric_limits<float>::infinity(),
                         number < 0 ? -1.0f : 1.0f);
  }
  return static_cast<float>(number);
}
float rounded(Float16 number) { return widened(number); }
float rounded(BFloat16 number) { return widened(number); }

template <class T>
T element(const std::byte* data, std::size_t index) {
  T value{};
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

Error type_error(const Array& array, std::string_view operation,
                 std::string_view name, std::string_view expected) {
  return argument_error(operation, name,
                        message("holds {} elements", name_of(array.dtype)),
                        std::string(expected));
}

// "(3, 4)": where the element `flat` of C order is.
std::string index_text(std::span<const std::size_t> shape, std::size_t flat) {
  std::vector<std::size_t> index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = flat % shape[axis];
    flat /= shape[axis];
  }
  return shape_text(index);
}

double shown_value(double number) { return number; }
template <class T>
double shown_value(T number) {
  return static_cast<double>(rounded(number));
}

Error not_finite(std::span<const std::size_t> shape, std::string_view operation,
                 std::string_view name, std::size_t index, double value) {
  // Never "-nan".
  const std::string shown = std::isnan(value) ? "nan" : number_text(value);
  return argument_error(
      operation, name, message("is {} at {}", shown, index_text(shape, index)),
      std::isfinite(value) ? "finite numbers of float32" : "finite numbers",
      ErrorCode::bad_data);
}

// `view` is in C order.
template <class T>
Status all_finite(const AnyView& view, std::string_view operation,
                  std::string_view name) {
  if constexpr (!std::is_integral_v<T> && !std::is_same_v<T, std::byte>) {
    const auto* const data = static_cast<const std::byte*>(view.data());
    const std::size_t count = *checked_product(view.extents());
    for (std::size_t i = 0; i < count; ++i) {
      if (!std::isfinite(rounded(element<T>(data, i)))) {
        return not_finite(view.extents(), operation, name, i,
                          shown_value(element<T>(data, i)));
      }
    }
  }
  return ok();
}

}  // namespace

AnyView Array::view() const { return {data.data(), dtype, shape}; }

namespace detail {

Status check_rank(const Array& array, std::string_view operation,
                  std::string_view name, std::size_t rank) {
  if (array.shape.size() != rank) {
    return argument_error(operation, name,
                          message("has shape {}", shape_text(array.shape)),
                          message(rank == 1 ? "{} axis" : "{} axes", rank),
                          ErrorCode::shape_mismatch);
  }
  // An Array made by hand may not hold what its shape says.
  std::vector<std::size_t> factors = array.shape;
  factors.push_back(size_of(array.dtype));
  if (checked_product(factors) != array.data.size()) {
    return argument_error(
        operation, name, message("has {} bytes of data", array.data.size()),
        message("those of its shape {}", shape_text(array.shape)));
  }
  return ok();
}

Status convert(const Array& array, std::string_view operation,
               std::string_view name, std::span<float> out) {
  return with_type(array.dtype, [&]<class T>(T) -> Status {
    if constexpr (std::is_same_v<T, std::byte>) {
      return type_error(array, operation, name, "numbers");
    } else {
      for (std::size_t i = 0; i < out.size(); ++i) {
        if constexpr (std::is_integral_v<T>) {
          out[i] = static_cast<float>(element<T>(array.data.data(), i));
        } else {
          out[i] = rounded(element<T>(array.data.data(), i));
        }
      }
      return ok();
    }
  });
}

Status convert(const Array& array, std::string_view operation,
               std::string_view name, std::span<bool> out) {
  return with_type(array.dtype, [&]<class T>(T) -> Status {
    if constexpr (std::is_integral_v<T> || std::is_same_v<T, std::byte>) {
      const auto at = [&](std::size_t i) {
        return element<T>(array.data.data(), i);
      };
      if constexpr (std::is_integral_v<T>) {
        HEADWISE_TRY(check_mask_numbers(operation, name, out.size(), at));
      }
      for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = at(i) != T{};
      }
      return ok();
    } else {
      return type_error(array, operation, name, "bool or integers");
    }
  });
}

Status convert(const Array& array, std::string_view operation,
               std::string_view name, std::span<std::int64_t> out) {
  return with_type(array.dtype, [&]<class T>(T) -> Status {
    if constexpr (std::is_integral_v<T>) {
      for (std::size_t i = 0; i < out.size(); ++i) {
        const T value = element<T>(array.data.data(), i);
        if (!std::in_range<std::int64_t>(value)) {
          return argument_error(
              operation, name,
              message("is {} at {}", value, index_text(array.shape, i)),
              "at most 2^63 - 1", ErrorCode::out_of_range);
        }
        // NOLINTNEXTLINE(bugprone-signed-char-misuse): an int8 is a number
        out[i] = static_cast<std::int64_t>(value);
      }
      return ok();
    } else {
      return type_error(array, operation, name, "integers");
    }
  });
}

}  // namespace detail

Status check_finite(const AnyView& view, std::string_view operation,
                    std::string_view name) {
  return catching_out_of_memory([&]() -> Status {
    if (!lies_in_c_order(view.extents(), view.strides())) {
      return value_error(operation, name, "strided", "elements in C order");
    }
    return with_type(view.dtype(), [&]<class T>(T) {
      return all_finite<T>(view, operation, name);
    });
  });
}

}  // namespace headwise::inline HEADWISE_ABI
