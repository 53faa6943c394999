// The tensors that a call of attention reads.
#pragma once

#include "headwise/base/tensor_view.h"

namespace headwise::inline HEADWISE_ABI {

template <class T>
struct AttentionInputsOf {
  TensorView<const T, 4> query;  // (B, Lq, Hq, D)
  TensorView<const T, 4> key;    // (B, Lkv, Hkv, D)
  TensorView<const T, 4> value;  // (B, Lkv, Hkv, Dv)
};

}  // namespace headwise::inline HEADWISE_ABI
