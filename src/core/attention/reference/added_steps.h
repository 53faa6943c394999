// The steps of stepwise attention with added keys: the keys' columns go through
// the step itself, those of the added keys behind them are computed here. A
// call without added keys is the step alone.
#pragma once

#include <cstddef>
#include <string_view>

#include "headwise/attention/spec.h"
#include "headwise/attention/stepwise.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/reports.h"

namespace headwise::inline HEADWISE_ABI {

// The columns of tensors over all pairs: those of the keys, and behind them
// those of the added keys, which have no bias and no mask.
class AddedColumns {
 public:
  explicit AddedColumns(const AttentionSpec& spec) : spec_(spec) {}

  // The name of that axis.
  std::string_view axis() const;

  template <class T>
  TensorView<T, 4> keys(const TensorView<T, 4>& pairs) const {
    const auto [B, H, Lq, columns] = pairs.extents();
    return {pairs.data(), {B, H, Lq, spec_.shape.Lkv}, pairs.strides()};
  }
  TensorView<float, 4> keys(Tensor<float, 4>& pairs) const {
    return keys(pairs.view());
  }
  template <class T>
  TensorView<T, 4> added(const TensorView<T, 4>& pairs) const {
    const auto [B, H, Lq, columns] = pairs.extents();
    T* const first = pairs.size() == 0 || spec_.added_keys.count() == 0
                         ? pairs.data()
                         : &pairs(0, 0, 0, spec_.shape.Lkv);
    return {first, {B, H, Lq, spec_.added_keys.count()}, pairs.strides()};
  }

  // to(b, h, i, n) = change(b, h, i, n, from(b, h, i, n)) of added key n.
  template <class Change>
  void set(const TensorView<const float, 4>& from, TensorView<float, 4> to,
           const Change& change) const {
    const TensorView<const float, 4> given = added(from);
    const TensorView<float, 4> changed = added(to);
    const auto [B, H, Lq, count] = given.extents();
    for (std::size_t b = 0; given.size() != 0 && b < B; ++b) {
      for (std::size_t h = 0; h < H; ++h) {
        for (std::size_t i = 0; i < Lq; ++i) {
          for (std::size_t n = 0; n < count; ++n) {
            changed(b, h, i, n) = change(b, h, i, n, given(b, h, i, n));
          }
        }
      }
    }
  }
  void copy(const TensorView<const float, 4>& from,
            TensorView<float, 4> to) const {
    set(from, to, [](auto, auto, auto, auto, float x) { return x; });
  }

 private:
  const AttentionSpec& spec_;
};

// Each takes whole tensors, (B, Hq, Lq, Lkv + added keys). Errors: those of the
// step; out_of_memory.
Status score_all(const AttentionSpec& spec, TensorView<const float, 4> query,
                 TensorView<const float, 4> key, TensorView<float, 4> to);
Status drop_all(const AttentionSpec& spec, TensorView<const float, 4> weights,
                TensorView<float, 4> to);
Status weigh_all(const AttentionSpec& spec, TensorView<const float, 4> weights,
                 TensorView<const float, 4> value, AttentionSteps& steps);
// Shows the learned key and value, and keys and values with the added ones
// behind them. Nothing without a trace or an added key. Errors: out_of_memory.
Status tell_added(TraceSink* trace, const AttentionSpec& spec,
                  TensorView<const float, 4> key,
                  TensorView<const float, 4> value);
// After the softmax: a row without a key whose added keys have scores of -inf
// has no share of them, if it is uniform.
void finish_empty_rows(const AttentionSpec& spec, AttentionSteps& steps);

}  // namespace headwise::inline HEADWISE_ABI
