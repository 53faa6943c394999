// Attention sinks: one more score per query head that joins the softmax and has
// no value. It takes a share of every row:
//
//   attn_weights[b,h,i,j] = exp(scores[b,h,i,j]) /
//                           (exp(sinks[h]) + sum_j exp(scores[b,h,i,j]))
//
//   sinks  (Hq)  in, in the domain of the scores; -inf: the head has none
//
// No attention weight is returned for a sink, so a row sums to less than 1, and
// a fully masked row has the weights 0 and the output 0.
// Source: Xiao et al. 2024, arXiv:2309.17453, as one learned score per head in
// gpt-oss (arXiv:2508.10925).
#pragma once

#include <cstddef>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/query_start.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Sinks that were checked against the sizes of a call.
class BoundSinks {
 public:
  BoundSinks() = default;  // no head has one
  // No view: no sinks. Errors: shape_mismatch unless there is one per query
  // head; invalid_argument for a sink that is neither -inf nor a number from
  // -2e38 to 2e38.
  HEADWISE_HIDDEN static Result<BoundSinks> bind(
      TensorView<const float, 1> sinks, const CallContext& context);

  bool given() const { return sinks_.data() != nullptr; }
  // No view: there are none.
  TensorView<const float, 1> view() const { return sinks_; }
  // -inf: head h has none.
  float of(std::size_t h) const;
  bool has(std::size_t h) const;

 private:
  TensorView<const float, 1> sinks_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
