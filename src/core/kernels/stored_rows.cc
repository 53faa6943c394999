#include "kernels/stored_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "headwise/base/half.h"

namespace headwise::inline HEADWISE_ABI::kernels {
namespace {

// The vector of one key, row n: what its numbers are divided by when they are
// stored, and multiplied by when they are read. 1 where the type has no scale.
template <class T, class From>
float scale_of(const Rows<From>& rows, std::size_t n, std::size_t size) {
  if constexpr (!std::is_same_v<T, std::int8_t>) {
    return 1;
  }
  constexpr float kSmallest = 0x1p-126f;
  float largest = 0;
  for (std::size_t c = 0; c < size; ++c) {
    const float x = std::fabs(widened(rows.at(n, c)));
    if (!(x <= std::numeric_limits<float>::max())) {
      return std::numeric_limits<float>::quiet_NaN();
    }
    largest = std::max(largest, x);
  }
  const float scale = largest / 127;
  return scale < kSmallest ? 1 : scale;
}

template <class T>
T stored(float x, float /*scale*/) {
  return narrowed<T>(x);
}
template <>
std::int8_t stored<std::int8_t>(float x, float scale) {
  // Where the scale is 1 because all are tiny, 0 is the nearest too.
  const float q = x / scale;
  // Adding 1.5 * 2^23 rounds to the nearest integer, ties to even.
  constexpr float kToWhole = 0x1.8p23f;
  return std::isnan(q) ? std::int8_t{0}
                       : static_cast<std::int8_t>((q + kToWhole) - kToWhole);
}

template <class T>
float read(T x, float /*scale*/) {
  return widened(x);
}
template <>
float read<std::int8_t>(std::int8_t x, float scale) {
  return scale * static_cast<float>(x);
}

// Calls body(T()) with the type of the stored numbers.
template <class Body>
auto with_type(StoredType type, const Body& body) {
  switch (type) {
    case StoredType::float32:
      break;
    case StoredType::bfloat16:
      return body(BFloat16());
    case StoredType::float16:
      return body(Float16());
    case StoredType::int8:
      return body(std::int8_t());
  }
  return body(float());
}

template <class T>
void put_scale(float* scales, std::size_t n, float scale) {
  if (sizeof(T) == 1) {
    scales[n] = scale;
  }
}
template <class T>
float scale_at(const float* scales, std::size_t n) {
  return sizeof(T) == 1 ? scales[n] : 1;
}

// Calls body(T(), rows) with the type of the stored numbers and the Rows of
// those that are given.
template <class Body>
auto with_types(StoredType type, const NumberRows<const void>& rows,
                const Body& body) {
  return with_type(type, [&](auto any) {
    return rows.visit([&](const auto& given) { return body(any, given); });
  });
}

}  // namespace

void store_keys(const NumberRows<const void>& keys, std::size_t D,
                StoredType type, std::size_t width, std::size_t first,
                void* panel, float* scales) {
  with_types(type, keys, [&](auto any, const auto& given) {
    using T = decltype(any);
    for (std::size_t n = 0; n < given.count; ++n) {
      const float scale = scale_of<T>(given, n, D);
      put_scale<T>(scales, first + n, scale);
      T* to = static_cast<T*>(panel) + first + n;
      for (std::size_t i = 0; i < D; ++i, to += width) {
        *to = stored<T>(widened(given.at(n, i)), scale);
      }
    }
  });
}

bool store_values(const NumberRows<const void>& values, std::size_t Dv,
                  StoredType type, void* rows, float* scales) {
  return with_types(type, values, [&](auto any, const auto& given) {
    using T = decltype(any);
    T* to = static_cast<T*>(rows);
    float poison = 0;  // x * 0 is NaN if x is not finite
    for (std::size_t n = 0; n < given.count; ++n, to += Dv) {
      const float scale = scale_of<T>(given, n, Dv);
      put_scale<T>(scales, n, scale);
      for (std::size_t c = 0; c < Dv; ++c) {
        to[c] = stored<T>(widened(given.at(n, c)), scale);
        poison += widened(narrowed_to_bfloat16(read<T>(to[c], scale))) * 0.0f;
      }
    }
    return poison == 0;
  });
}

void load_keys(const KeyPanel& panel, std::size_t D, StoredType type,
               std::size_t first, std::size_t count, float* rows) {
  with_type(type, [&](auto any) {
    using T = decltype(any);
    for (std::size_t n = 0; n < count; ++n, rows += D) {
      const T* from = static_cast<const T*>(panel.keys) + first + n;
      const float scale = scale_at<T>(panel.scales, first + n);
      for (std::size_t i = 0; i < D; ++i, from += panel.width) {
        rows[i] = read<T>(*from, scale);
      }
    }
  });
}

void load_values(const ValueRows& values, std::size_t Dv, StoredType type,
                 float* rows) {
  with_type(type, [&](auto any) {
    using T = decltype(any);
    for (std::size_t n = 0; n < values.count; ++n, rows += Dv) {
      const T* from = static_cast<const T*>(values.rows) +
                      static_cast<std::ptrdiff_t>(n) * values.row_stride;
      const float scale = scale_at<T>(values.scales, n);
      for (std::size_t c = 0; c < Dv; ++c) {
        rows[c] = read<T>(from[c], scale);
      }
    }
  });
}

}  // namespace headwise::inline HEADWISE_ABI::kernels
