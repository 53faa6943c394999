// Tensors of ONNX's Attention as attention() takes them, (B, L, H, D).
#pragma once

#include <cstddef>

#include "headwise/base/tensor_view.h"
#include "headwise/interop/array.h"
#include "onnx/attention_call.h"

namespace headwise::inline HEADWISE_ABI {

// The elements of a float32 array.
inline const float* floats(const Array& array) {
  return reinterpret_cast<const float*>(array.data.data());
}
inline float* floats(Array& array) {
  return reinterpret_cast<float*>(array.data.data());
}

// A view of Q or Y, (B, Lq, Hq, width).
template <class T>
TensorView<T, 4> query_view(T* data, const AttentionSizes& sizes,
                            std::size_t width) {
  return sizes.heads_merged
             ? TensorView<T, 4>(data,
                                Extents<4>{sizes.B, sizes.Lq, sizes.Hq, width})
             : as_blhd(TensorView<T, 4>(
                   data, Extents<4>{sizes.B, sizes.Hq, sizes.Lq, width}));
}

// A view of keys or values with their past, which have the axes (B, Hkv, Lkv,
// width).
inline TensorView<const float, 4> key_view(const Array& present) {
  return as_blhd(TensorView<const float, 4>(
      floats(present), Extents<4>{present.shape[0], present.shape[1],
                                  present.shape[2], present.shape[3]}));
}

}  // namespace headwise::inline HEADWISE_ABI
