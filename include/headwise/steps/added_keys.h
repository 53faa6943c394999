// Added keys: one more key and value per key head that are the same in every
// sequence, then one more key and value of zeros, as PyTorch's add_bias_kv and
// add_zero_attn. They follow the last key. Every query attends to them,
// whatever the mask, so a row that sees no other key is not empty:
//
//   key[b,Lkv,g,:]   = bias_k[g,:]      value[b,Lkv,g,:]   = bias_v[g,:]
//   key[b,Lkv+1,g,:] = 0                value[b,Lkv+1,g,:] = 0
//
//   bias_k  (Hkv, D)   in
//   bias_v  (Hkv, Dv)  in
//
// Their scores are those of any key, with the softcap, but no bias and no
// ALiBi. Returned attention weights and scores have a column for each behind
// those of the Lkv keys.
// Source: torch.nn.MultiheadAttention.
#pragma once

#include <cstddef>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/query_start.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct AddedKeys {
  // Set both or neither. The views must outlive the call.
  TensorView<const float, 2> bias_k{};  // (Hkv, D)
  TensorView<const float, 2> bias_v{};  // (Hkv, Dv)
  bool zero_attn = false;               // the key and value of zeros
};

// Added keys that were checked against the sizes of a call. They are counted
// from 0: that of bias_k, if there is one, then that of zeros.
class BoundAddedKeys {
 public:
  // The most that a call can have.
  static constexpr std::size_t kMost = 2;

  BoundAddedKeys() = default;  // none
  // Errors: invalid_argument for a bias_k without a bias_v or the reverse;
  // shape_mismatch. Where Dv is 0 no value is read, and bias_v may be missing.
  HEADWISE_HIDDEN static Result<BoundAddedKeys> bind(
      const AddedKeys& added, const CallContext& context);

  std::size_t count() const {
    return (learned() ? 1U : 0U) + (zero_attn_ ? 1U : 0U);
  }
  // Whether there is a bias_k.
  bool learned() const { return bias_k_.data() != nullptr; }
  // Whether added key n is that of bias_k.
  bool is_learned(std::size_t n) const { return learned() && n == 0; }
  // The key index of added key n, for dropout and all else that depends on the
  // index: 2^32 - 2 for the key of bias_k, 2^32 - 1 for that of zeros.
  std::size_t number(std::size_t n) const {
    return is_learned(n) ? kFirstNumber : kFirstNumber + 1;
  }
  static bool is_number(std::size_t j) { return j >= kFirstNumber; }
  // The column of key j, or of the added key whose number is j, among Lkv keys
  // and the added ones.
  std::size_t column(std::size_t j, std::size_t Lkv) const {
    return j < kFirstNumber ? j : Lkv + (j - number(0));
  }

  float key(std::size_t n, std::size_t g, std::size_t d) const {
    return is_learned(n) ? bias_k_(g, d) : 0;
  }
  float value(std::size_t n, std::size_t g, std::size_t c) const {
    return is_learned(n) ? bias_v_(g, c) : 0;
  }
  // Empty if there is no such key, or if it has no value.
  TensorView<const float, 2> bias_k() const { return bias_k_; }
  TensorView<const float, 2> bias_v() const { return bias_v_; }
  // All of them in order, (count, Hkv, D) and (count, Hkv, Dv). Errors:
  // out_of_memory.
  HEADWISE_HIDDEN Result<Tensor<float, 3>> keys(
      const AttentionShape& shape) const;
  HEADWISE_HIDDEN Result<Tensor<float, 3>> values(
      const AttentionShape& shape) const;

 private:
  static constexpr std::size_t kFirstNumber = (std::size_t{1} << 32) - 2;

  TensorView<const float, 2> bias_k_;
  TensorView<const float, 2> bias_v_;
  bool zero_attn_ = false;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
