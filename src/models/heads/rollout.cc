#include "headwise/heads/rollout.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/copy_of.h"
#include "base/out_of_memory.h"
#include "headwise/attention/backward.h"
#include "headwise/attention/forward.h"
#include "run/float_environment.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kRollout = "rollout";

Status check_layers(std::span<const ComparedHeads> layers,
                    const Extents<3>& rows) {
  HEADWISE_TRY(check_at_least_one(kRollout, "layers", layers.size()));
  for (std::size_t n = 0; n < layers.size(); ++n) {
    const std::string layer = "layers[" + std::to_string(n) + "]";
    const auto check = [&](const char* name, const Extents<4>& given) {
      return check_shape(kRollout, layer + name, given, "(B, L, heads, D)",
                         Extents<4>{rows[0], rows[2], given[2], given[3]});
    };
    HEADWISE_TRY(check(".query", layers[n].query.extents()));
    HEADWISE_TRY(check(".key", layers[n].key.extents()));
  }
  return ok();
}

// A view of this shape whose elements are all `number`.
template <std::size_t Rank>
TensorView<const float, Rank> all_of(const float& number,
                                     const Extents<Rank>& extents) {
  return {&number, extents, Strides<Rank>{}};
}

constexpr float kOne = 1;
constexpr float kZero = 0;

// Those of a layer, whose values have this number of features. An added key
// belongs to no token: its value is 0.
OperationOptions rollout_options(const ComparedHeads& layer,
                                 std::size_t features,
                                 const OperationOptions& all) {
  OperationOptions own = all;
  if (!layer.kv_groups.even()) {
    own.kv_groups = layer.kv_groups;
  }
  if (own.added_keys.bias_k.data() != nullptr) {
    own.added_keys.bias_v = all_of<2>(kZero, {layer.key.extent(2), features});
  }
  return own;
}

// What one layer needs of its attention weights.
struct LayerRows {
  Tensor<float, 4> sums;          // (B, L, Hq, 1), of each row
  Tensor<float, 4> softmax_rows;  // (B, Hq, L, 2)
};

Result<LayerRows> rows_of_map(const ComparedHeads& layer,
                              const AttentionOptions& options,
                              const OperationOptions& operation_options) {
  const auto [B, L, Hq, D] = layer.query.extents();
  HEADWISE_ASSIGN(auto sums, Tensor<float, 4>::create_unset({B, L, Hq, 1}));
  HEADWISE_ASSIGN(auto softmax_rows,
                  Tensor<float, 4>::create_unset({B, Hq, L, 2}));
  HEADWISE_TRY(attention(
      layer.query, layer.key, all_of<4>(kOne, {B, L, layer.key.extent(2), 1}),
      {.output = sums, .softmax_rows = softmax_rows}, options,
      rollout_options(layer, 1, operation_options)));
  return LayerRows{std::move(sums), std::move(softmax_rows)};
}

// rows[i] / (sum_j A[i,j] + 1), in place.
void divide_by_sums(const Tensor<float, 4>& sums, Tensor<float, 3>& rows) {
  const auto [B, R, L] = rows.extents();
  const std::size_t Hq = sums.extent(2);
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t i = 0; i < L; ++i) {
      float sum = 0;
      for (std::size_t h = 0; h < Hq; ++h) {
        sum += sums(b, i, h, 0);
      }
      const float divisor = sum / static_cast<float>(Hq) + 1;
      for (std::size_t r = 0; r < R; ++r) {
        rows(b, r, i) /= divisor;
      }
    }
  }
}

// rows[j] += the mean over the heads of what they passed to key j.
void add_means(const Tensor<float, 4>& passed, std::size_t Hq,
               Tensor<float, 3>& rows) {
  const auto [B, R, L] = rows.extents();
  const std::size_t Hkv = passed.extent(2);
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t r = 0; r < R; ++r) {
      for (std::size_t j = 0; j < L; ++j) {
        float sum = 0;
        for (std::size_t h = 0; h < Hkv; ++h) {
          sum += passed(b, j, h, r);
        }
        rows(b, r, j) += sum / static_cast<float>(Hq);
      }
    }
  }
}

// rows = rows M of this layer. Values that weigh as `rows` says have the
// gradient rows A, so that the backward pass is what multiplies by A.
Status pass_through(const ComparedHeads& layer, const AttentionOptions& options,
                    const OperationOptions& operation_options,
                    Tensor<float, 3>& rows) {
  const auto [B, R, L] = rows.extents();
  const std::size_t Hq = layer.query.extent(2);
  const std::size_t Hkv = layer.key.extent(2);
  HEADWISE_ASSIGN(const auto of_layer,
                  rows_of_map(layer, options, operation_options));
  divide_by_sums(of_layer.sums, rows);
  HEADWISE_ASSIGN(auto passed, Tensor<float, 4>::create_unset({B, L, Hkv, R}));
  const TensorView<const float, 4> d_output(
      rows.data(), {B, L, Hq, R},
      {static_cast<std::ptrdiff_t>(R * L), 1, 0,
       static_cast<std::ptrdiff_t>(L)});
  HEADWISE_TRY(
      attention_backward({.query = layer.query,
                          .key = layer.key,
                          .value = all_of<4>(kZero, {B, L, Hkv, R}),
                          .output = all_of<4>(kZero, {B, L, Hq, R}),
                          .softmax_rows = of_layer.softmax_rows,
                          .d_output = d_output},
                         {.value = passed}, options,
                         rollout_options(layer, R, operation_options)));
  add_means(passed, Hq, rows);
  return ok();
}

}  // namespace

Result<Tensor<float, 3>> rollout(std::span<const ComparedHeads> layers,
                                 TensorView<const float, 3> rows,
                                 const AttentionOptions& options,
                                 const OperationOptions& operation_options) {
  return catching_out_of_memory([&]() -> Result<Tensor<float, 3>> {
    HEADWISE_TRY(check_layers(layers, rows.extents()));
    HEADWISE_ASSIGN(auto passed, copy_of(rows));
    const FloatEnvironment environment;
    for (std::size_t n = layers.size(); n-- > 0;) {
      if (layers[n].query.extent(2) != 0) {
        HEADWISE_TRY(pass_through(
            layers[n], layers[n].options ? *layers[n].options : options,
            operation_options, passed));
      }
    }
    return passed;
  });
}

}  // namespace headwise::inline HEADWISE_ABI
