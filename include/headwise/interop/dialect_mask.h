// Reads a mask of another library as a mask or a bias of headwise:
//
//   bool, int    nonzero = may attend, or masked (PyTorch's
//                MultiheadAttention), or lengths (d2l)
//   float        added to the scores; -inf masks
//
// A rank-3 mask is (B * H, Lq, Lkv), (H, Lq, Lkv) or (B, Lq, Lkv), as the
// dialect says. Numbers below -2e38 are read as -2e38, so they stay finite: a
// row of them attends to all keys equally, a row of -inf to none. A small added
// fill, such as ONNX Runtime's -1e4, becomes a bias.
#pragma once

#include <cstddef>
#include <optional>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/interop/array.h"
#include "headwise/interop/dialects.h"
#include "headwise/steps/bias.h"
#include "headwise/steps/mask.h"
#include "headwise/steps/named_axes.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The sizes of the call that the mask belongs to.
struct MaskSizes {
  std::size_t B = 1;
  std::size_t Hq = 1;
  std::size_t Lq = 0;
  std::size_t Lkv = 0;
  bool batched = true;  // whether the tensors have a batch axis
};

// A mask or a bias, over these axes. The views of mask() and bias() point into
// this object, which must outlive the call.
struct DialectMask {
  std::optional<Tensor<bool, 1>> allowed{};
  std::optional<Tensor<float, 1>> added{};
  NamedAxes axes{};

  Mask mask() const { return allowed ? dense(allowed->data(), axes) : Mask(); }
  Bias bias() const { return added ? dense(added->data(), axes) : Bias(); }
};

// Errors, about the argument "mask": shape_mismatch for a rank or a size that
// the dialect does not take, invalid_argument for a type that it does not take,
// unsupported for a dialect without masks, out_of_memory.
Result<DialectMask> read_mask(const Dialect& dialect, const Array& mask,
                              const MaskSizes& sizes);

// A key padding mask, (B, Lkv), bool or integers, or floats where the library
// takes them; without a batch axis also (Lkv). Errors: the same, about
// "mask.key_padding".
Result<DialectMask> read_key_padding(const Dialect& dialect, const Array& mask,
                                     const MaskSizes& sizes);

// The sum of two masks that are added to the scores, over (B, H, Lq, Lkv).
// Errors: out_of_memory.
Result<DialectMask> sum_of(const DialectMask& a, const DialectMask& b,
                           const MaskSizes& sizes);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
