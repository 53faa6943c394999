// What the heads of a text compare in a layer, kept beyond the call that showed
// it (HeadHooks::see_inputs).
#pragma once

#include <memory>
#include <optional>

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/module/head_hooks.h"

namespace headwise::inline HEADWISE_ABI {

class KeptInputs {
 public:
  // `heads` of a single sequence; its values, too, if `with_values`. The
  // queries are multiplied so that `scale` takes the place of their own.
  // Errors: out_of_memory.
  static Result<std::shared_ptr<const KeptInputs>> of(
      const HookedHeads& heads, bool with_values = false,
      std::optional<double> scale = {});
  // On q.k.
  static double scale_of(const HookedHeads& heads);

  TensorView<const float, 4> query() const { return query_; }
  // Of a layer whose groups are uneven, one for each query head.
  TensorView<const float, 4> key() const { return key_; }
  TensorView<const float, 4> value() const { return value_; }
  // Of the sequence: without offsets, in exact arithmetic. They look into this
  // object.
  const AttentionOptions& options() const { return options_; }

 private:
  Tensor<float, 4> query_{};
  Tensor<float, 4> key_{};
  Tensor<float, 4> value_{};
  Tensor<float, 1> bias_{};  // its elements
  AttentionOptions options_{};
};

}  // namespace headwise::inline HEADWISE_ABI
