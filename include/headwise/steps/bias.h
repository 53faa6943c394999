// Step 6b: a dense bias on the scores, at the named axes, broadcast over the
// others:
//
//   biased_scores[b,h,i,j] = scores[b,h,i,j] + bias[b,h,i,j]
//
//   scores         (B, Hq, Lq, Lkv)  in
//   biased_scores  (B, Hq, Lq, Lkv)  out
//
// A bias of -inf masks its key: the sum is -inf by select, whatever the score
// is, and BoundMask does not let the query attend. Added after a softcap.
// The view inside a bias is not copied: it must outlive the call.
//
// Example:
//   Bias bias = dense(view, {Axis::H, Axis::Lq, Axis::Lkv});
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/steps/call_context.h"
#include "headwise/steps/named_axes.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class Bias {
 public:
  Bias() = default;  // nothing is added
  Bias(const float* data, NamedAxes axes)
      : given_(true), data_(data), axes_(std::move(axes)) {}

  bool given() const { return given_; }
  const float* data() const { return data_; }
  const NamedAxes& axes() const { return axes_; }

 private:
  bool given_ = false;
  const float* data_ = nullptr;
  NamedAxes axes_;
};

// `axes` names the view's axes, as in a dense mask (steps/mask.h).
Bias dense(const float* data, std::vector<std::size_t> extents,
           std::vector<std::ptrdiff_t> strides, std::vector<Axis> axes);
template <std::size_t Rank>
Bias dense(TensorView<const float, Rank> view,
           const std::array<Axis, Rank>& axes) {
  return dense(view.data(), {view.extents().begin(), view.extents().end()},
               {view.strides().begin(), view.strides().end()},
               {axes.begin(), axes.end()});
}

// A bias that was checked against the sizes of a call.
class BoundBias {
 public:
  BoundBias() = default;  // nothing is added
  // Errors: those of NamedAxes::check.
  static Result<BoundBias> bind(const Bias& bias, const CallContext& context);

  bool given() const { return bias_.given(); }
  // Only when given.
  const float& operator()(std::size_t b, std::size_t h, std::size_t i,
                          std::size_t j) const {
    return bias_.data()[bias_.axes().offset(b, h, i, j)];
  }
  // Its extents by B, H, Lq, Lkv: those of the scores, 1 where it is broadcast.
  Extents<4> extents() const;
  const float* data() const { return bias_.data(); }
  // By B, H, Lq, Lkv; 0 = broadcast.
  const std::array<std::ptrdiff_t, 4>& strides() const {
    return bias_.axes().stride_of;
  }
  // From one query, and from one key, to the next.
  std::ptrdiff_t query_stride() const { return bias_.axes().stride_of[2]; }
  std::ptrdiff_t key_stride() const { return bias_.axes().stride_of[3]; }

 private:
  explicit BoundBias(Bias bias) : bias_(std::move(bias)) {}

  Bias bias_;
};

// The bias must have been given; the shapes must fit; may be the same tensor.
// Errors: invalid_argument for an output that shares memory with the scores,
// but is not the same tensor, or with the bias; out_of_memory.
Status add_bias(TensorView<const float, 4> scores, const BoundBias& bias,
                TensorView<float, 4> biased_scores, const Executor& executor);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
