// Biases for tests: one of each layout, with a -inf here and there, T5's,
// slopes, sinks and added keys.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "headwise/steps/added_keys.h"
#include "headwise/steps/alibi.h"
#include "headwise/steps/bias.h"
#include "headwise/steps/t5_bias.h"
#include "support/tensors.h"

namespace headwise::testing_support {

class EveryBias {
 public:
  explicit EveryBias(const AttentionShape& s)
      : full_(some_minus_inf(uniform<4>({s.B, s.Hq, s.Lq, s.Lkv}, 911, -3, 3))),
        heads_(uniform<3>({s.Hq, s.Lq, s.Lkv}, 912, -3, 3)),
        columns_(some_minus_inf(uniform<2>({s.Lkv, s.Lq}, 913, -3, 3))),
        keys_(some_minus_inf(uniform<3>({s.B, 1, s.Lkv}, 914, -3, 3))),
        queries_(some_minus_inf(uniform<2>({s.Lq, s.Hq}, 915, -3, 3))),
        gaps_(some_minus_inf(uniform<3>({s.Lq, s.Lkv, 3}, 916, -3, 3))),
        buckets_(uniform<2>({12, s.Hq}, 917, -3, 3)),
        slopes_(alibi_slopes(s.Hq).value()),
        sinks_(uniform<1>({s.Hq}, 917, -2, 4)),
        bias_k_(uniform<2>({s.Hkv, s.D}, 918, -2, 2)),
        bias_v_(uniform<2>({s.Hkv, s.Dv}, 919, -2, 2)) {
    sinks_(s.Hq - 1) = -std::numeric_limits<float>::infinity();
    sinks_(0) = s.Hq == 1 ? 0.5f : sinks_(0);
  }

  std::vector<std::pair<std::string, Bias>> biases() const {
    const auto [Lq, Lkv, gap] = gaps_.extents();
    // Every third element, from the last key to the first.
    const Bias backwards =
        dense(gaps_.data() + (Lkv == 0 ? 0 : (Lkv - 1) * gap),
              {{Lq, Lkv},
               {static_cast<std::ptrdiff_t>(Lkv * gap),
                -static_cast<std::ptrdiff_t>(gap)},
               {Axis::Lq, Axis::Lkv}});
    return {
        {"(B, H, Lq, Lkv)",
         dense(view_of(full_), {Axis::B, Axis::H, Axis::Lq, Axis::Lkv})},
        {"(H, Lq, Lkv), finite", finite()},
        {"(Lkv, Lq)", dense(view_of(columns_), {Axis::Lkv, Axis::Lq})},
        {"(B, 1, Lkv)", dense(view_of(keys_), {Axis::B, Axis::one, Axis::Lkv})},
        {"(Lq, H)", dense(view_of(queries_), {Axis::Lq, Axis::H})},
        {"(Lq, Lkv) with gaps", backwards}};
  }
  Bias finite() const {
    return dense(view_of(heads_), {Axis::H, Axis::Lq, Axis::Lkv});
  }
  // T5's: small enough that its largest distance is within the tests' sizes.
  T5Bias t5_bias(bool bidirectional) const {
    return {.table = buckets_.view(),
            .max_distance = 40,
            .bidirectional = bidirectional};
  }
  TensorView<const float, 1> slopes() const { return slopes_.view(); }
  // That of the last of several heads is -inf.
  TensorView<const float, 1> sinks() const { return sinks_.view(); }
  AddedKeys added_keys(bool zero_attn) const {
    return {bias_k_.view(), bias_v_.view(), zero_attn};
  }

 private:
  template <std::size_t Rank>
  static Tensor<float, Rank> some_minus_inf(Tensor<float, Rank> bias) {
    for (float& x : bias.elements()) {
      x = x < -2 ? -std::numeric_limits<float>::infinity() : x;
    }
    return bias;
  }

  Tensor<float, 4> full_;
  Tensor<float, 3> heads_;
  Tensor<float, 2> columns_;
  Tensor<float, 3> keys_;
  Tensor<float, 2> queries_;
  Tensor<float, 3> gaps_;
  Tensor<float, 2> buckets_;
  Tensor<float, 1> slopes_;
  Tensor<float, 1> sinks_;
  Tensor<float, 2> bias_k_;
  Tensor<float, 2> bias_v_;
};

}  // namespace headwise::testing_support
