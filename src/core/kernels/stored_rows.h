// How keys and values are stored for attention of few queries
// (kernels/stored_tile.h), and the conversions from and to float32. A cache
// uses this form too, so a step reads it without packing.
//
//   keys     panels (D, width): feature by feature, `width` keys side by side
//   values   rows of Dv features
//   scales   int8 only: one number per key, for its features or for its values
//
// What is stored may be float32 or of 16 bits, which are widened exactly.
// Numbers are narrowed once, to nearest even; they are read back exactly, int8
// as scale * q in one rounding (docs/arithmetic.md, "Caches"). Nothing is
// checked or allocated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "headwise/base/dtype.h"
#include "headwise/version.h"
#include "kernels/rows.h"

namespace headwise::inline HEADWISE_ABI::kernels {

enum class StoredType : std::uint8_t { float32, bfloat16, float16, int8 };

// That of a type that can be stored.
constexpr StoredType stored_type(DType dtype) {
  switch (dtype) {
    case DType::bfloat16:
      return StoredType::bfloat16;
    case DType::float16:
      return StoredType::float16;
    case DType::int8:
      return StoredType::int8;
    default:
      return StoredType::float32;
  }
}

// Bytes of one number.
constexpr std::size_t size_of(StoredType type) {
  switch (type) {
    case StoredType::float32:
      return 4;
    case StoredType::bfloat16:
    case StoredType::float16:
      return 2;
    case StoredType::int8:
      return 1;
  }
  return 0;
}

// The most keys of a panel; it may have a half or a quarter of them.
inline constexpr std::size_t kPanelKeys = 64;
// That of a panel for this many keys, at most kPanelKeys.
constexpr std::size_t panel_width(std::size_t keys) {
  return keys <= kPanelKeys / 4   ? kPanelKeys / 4
         : keys <= kPanelKeys / 2 ? kPanelKeys / 2
                                  : kPanelKeys;
}

// Keys side by side, 64-byte aligned.
struct KeyPanel {
  const void* keys = nullptr;     // (D, width)
  const float* scales = nullptr;  // (width)
  std::size_t width = 0;
  const void* next = nullptr;  // the panel one block on, or null
};

// Values of consecutive keys.
struct ValueRows {
  const void* rows = nullptr;
  const float* scales = nullptr;  // (count)
  std::size_t count = 0;
  std::ptrdiff_t row_stride = 0;  // in numbers
  const void* next = nullptr;     // the rows one block on, or null
};

// Writes the keys (count, D) into the places [first, first + count) of a panel.
void store_keys(const NumberRows<const void>& keys, std::size_t D,
                StoredType type, std::size_t width, std::size_t first,
                void* panel, float* scales);
// Writes values (count, Dv) as rows one after another. Returns whether every
// number is finite when it is read back, and rounded to bfloat16.
bool store_values(const NumberRows<const void>& values, std::size_t Dv,
                  StoredType type, void* rows, float* scales);

// Reads the keys [first, first + count) of a panel back, as rows of D.
void load_keys(const KeyPanel& panel, std::size_t D, StoredType type,
               std::size_t first, std::size_t count, float* rows);
// Reads values back, as rows of Dv.
void load_values(const ValueRows& values, std::size_t Dv, StoredType type,
                 float* rows);

}  // namespace headwise::inline HEADWISE_ABI::kernels
