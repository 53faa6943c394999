// Step 6b: a dense bias on the scores, with named axes, broadcast over the
// others:
//
//   biased_scores[b,h,i,j] = scores[b,h,i,j] + bias[b,h,i,j]
//
//   scores         (B, Hq, Lq, Lkv)  in
//   biased_scores  (B, Hq, Lq, Lkv)  out
//
// A bias of -inf masks its key: the sum is -inf by select, whatever the score
// is, and BoundMask does not let the query attend to it. The bias is added
// after a softcap. The view inside a bias is not copied: it must outlive the
// call.
//
// Example:
//   Bias bias = dense(view, {Axis::H, Axis::Lq, Axis::Lkv});
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/steps/named_axes.h"
#include "headwise/steps/query_start.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class Bias {
 public:
  Bias() = default;  // nothing is added
  Bias(const float* data, const NamedAxes& axes)
      : given_(true), data_(data), axes_(axes) {}

  bool given() const { return given_; }
  const float* data() const { return data_; }
  const NamedAxes& axes() const { return axes_; }

 private:
  bool given_ = false;
  const float* data_ = nullptr;
  NamedAxes axes_;
};

// `axes` names the view's axes, as in a dense mask (steps/mask.h).
inline Bias dense(const float* data, const NamedAxes& axes) {
  return {data, axes};
}
template <std::size_t Rank>
Bias dense(std::type_identity_t<TensorView<const float, Rank>> view,
           const std::array<Axis, Rank>& axes) {
  return dense(view.data(), NamedAxes(view.extents(), view.strides(), axes));
}
// The same with a list of axes, which gives the rank.
template <std::size_t Rank>
Bias dense(std::type_identity_t<TensorView<const float, Rank>> view,
           const Axis (&axes)[Rank]) {
  return dense<Rank>(view, std::to_array(axes));
}

// A bias that was checked against the sizes of a call.
class BoundBias {
 public:
  BoundBias() = default;  // nothing is added
  // Errors: those of NamedAxes::check.
  HEADWISE_HIDDEN static Result<BoundBias> bind(const Bias& bias,
                                                const CallContext& context);

  bool given() const { return bias_.given(); }
  // Only if given().
  const float& operator()(std::size_t b, std::size_t h, std::size_t i,
                          std::size_t j) const {
    return bias_.data()[bias_.axes().offset(b, h, i, j)];
  }
  // Its extents along B, H, Lq, Lkv: those of the scores, 1 if it is broadcast.
  Extents<4> extents() const;
  const float* data() const { return bias_.data(); }
  // Along B, H, Lq, Lkv; 0 = broadcast.
  const std::array<std::ptrdiff_t, 4>& strides() const {
    return bias_.axes().score_strides();
  }
  // From one query, and from one key, to the next.
  std::ptrdiff_t query_stride() const {
    return bias_.axes().score_strides()[2];
  }
  std::ptrdiff_t key_stride() const { return bias_.axes().score_strides()[3]; }

 private:
  explicit BoundBias(const Bias& bias) : bias_(bias) {}

  Bias bias_;
};

// The output may be the scores themselves. Errors: shape_mismatch for other
// shapes, or a bias that was bound to other sizes; invalid_argument if no bias
// was given, and for an output that overlaps the bias, or the scores without
// being the same tensor; out_of_memory.
Status add_bias(TensorView<const float, 4> scores, const BoundBias& bias,
                TensorView<float, 4> biased_scores, const Executor& executor);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
