// The arithmetic of attention/reference.h, for a call that was checked.
#pragma once

#include "headwise/attention/spec.h"
#include "headwise/base/tensor_view.h"

namespace headwise {

template <class T>
struct AttentionInputsOf {
  TensorView<const T, 4> query;  // (B, Lq, Hq, D)
  TensorView<const T, 4> key;    // (B, Lkv, Hkv, D)
  TensorView<const T, 4> value;  // (B, Lkv, Hkv, Dv)
};

// Throws std::bad_alloc when a row's scratch memory cannot be had.
template <class T>
void reference_rows(const AttentionSpec& spec,
                    const AttentionInputsOf<T>& inputs,
                    const AttentionOutputsOf<T>& outputs);

}  // namespace headwise
