// Attention of ONNX Runtime (com.microsoft): with the projections of Q, K and V
// in one matrix.
//
//   inputs   input (B, L, features), weights (features, Q + K + V), bias,
//            mask_index, past (2, B, H, past, D), attention_bias
//   outputs  output (B, L, V), present (2, B, H, past + L, D)
#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "onnx/attend.h"
#include "onnx/attention_views.h"
#include "onnx/contrib_inputs.h"
#include "onnx/contrib_mask.h"
#include "onnx/contrib_operators.h"
#include "onnx/numbers.h"
#include "onnx/tensor_data.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

struct ContribIn {
  static constexpr std::size_t input = 0;
  static constexpr std::size_t weights = 1;
  static constexpr std::size_t bias = 2;
  static constexpr std::size_t mask = 3;
  static constexpr std::size_t past = 4;
  static constexpr std::size_t attention_bias = 5;
  static constexpr std::size_t beyond = 6;
};

// Features of Q, K and V together.
using Widths = std::array<std::size_t, 3>;

Result<Widths> widths_of(const NodeCall& node, std::size_t heads) {
  const std::size_t features = node.in(ContribIn::weights).shape[1];
  HEADWISE_ASSIGN(const auto given, node.integers("qkv_hidden_sizes"));
  Widths widths{features / 3, features / 3, features / 3};
  if (given) {
    if (given->size() != 3 ||
        std::ranges::any_of(*given, [&](std::int64_t width) {
          return width < 0 || width > static_cast<std::int64_t>(features);
        })) {
      return node.attribute("qkv_hidden_sizes")
          .bad_data("is not valid", "three sizes, for Q, K and V");
    }
    std::ranges::transform(*given, widths.begin(), [](std::int64_t width) {
      return static_cast<std::size_t>(width);
    });
  }
  const bool fits = std::accumulate(widths.begin(), widths.end(),
                                    std::size_t{0}) == features &&
                    widths[0] == widths[1] && widths[0] % heads == 0 &&
                    widths[2] % heads == 0;
  if (!fits) {
    return node.wrong_shape(
        ContribIn::weights,
        message("the features of Q, K and V, each of {} heads", heads));
  }
  return widths;
}

// input (rows, k) times weights (k, n), each sum rounded once.
Result<Array> projected(const Array& input, const Array& weights) {
  const std::size_t k = weights.shape[0];
  const std::size_t n = weights.shape[1];
  HEADWISE_ASSIGN(
      auto made, array_of({input.shape[0], input.shape[1], n}, DType::float32));
  const float* x = floats(input);
  const float* w = floats(weights);
  float* out = floats(made);
  std::vector<double> sums(n);
  for (std::size_t row = 0; row < input.shape[0] * input.shape[1]; ++row) {
    std::ranges::fill(sums, 0);
    for (std::size_t i = 0; i < k; ++i) {
      const double factor = x[row * k + i];
      for (std::size_t j = 0; j < n; ++j) {
        sums[j] += factor * static_cast<double>(w[i * n + j]);
      }
    }
    out = std::ranges::transform(sums, out, [](double sum) {
            return static_cast<float>(sum);
          }).out;
  }
  return made;
}

Result<AttentionSizes> contrib_sizes(const NodeCall& node) {
  HEADWISE_TRY(check_axes(node, ContribIn::input, 3));
  HEADWISE_TRY(check_axes(node, ContribIn::weights, 2));
  HEADWISE_ASSIGN(const auto heads, head_number(node, "num_heads"));
  const auto& input = node.in(ContribIn::input).shape;
  const auto& weights = node.in(ContribIn::weights).shape;
  if (weights[0] != input[2]) {
    return node.wrong_shape(ContribIn::weights,
                            message("a matrix of {} rows", input[2]));
  }
  HEADWISE_ASSIGN(const auto widths, widths_of(node, heads));
  AttentionSizes sizes{.B = input[0],
                       .Hq = heads,
                       .Hkv = heads,
                       .Lq = input[1],
                       .new_keys = input[1],
                       .D = widths[0] / heads,
                       .Dv = widths[2] / heads,
                       .heads_merged = true};
  if (node.has(ContribIn::bias)) {
    HEADWISE_TRY(check_shape_of(node, ContribIn::bias, {weights[1]}));
  }
  if ((node.has(ContribIn::past) || node.wants(1)) && sizes.D != sizes.Dv) {
    return node.wrong_shape(
        ContribIn::weights,
        "equal head sizes for K and V when a past is given");
  }
  if (node.has(ContribIn::past)) {
    HEADWISE_TRY(check_axes(node, ContribIn::past, 5));
    sizes.past_keys = node.in(ContribIn::past).shape[3];
    HEADWISE_TRY(
        check_shape_of(node, ContribIn::past,
                       {2, sizes.B, sizes.Hkv, sizes.past_keys, sizes.D}));
  }
  return sizes;
}

// The keys (half 0) or the values (half 1) of a past.
Result<Array> half_of(const Array& past, std::size_t half) {
  const auto& shape = past.shape;
  HEADWISE_ASSIGN(auto made, array_of({shape[1], shape[2], shape[3], shape[4]},
                                      past.dtype));
  std::copy_n(past.data.data() + half * made.data.size(), made.data.size(),
              made.data.data());
  return made;
}

Result<Array> joined_present(const Array& key, const Array& value) {
  HEADWISE_ASSIGN(auto made, array_of({2, key.shape[0], key.shape[1],
                                       key.shape[2], key.shape[3]},
                                      key.dtype));
  std::byte* out = made.data.data();
  out = std::ranges::copy(key.data, out).out;
  std::ranges::copy(value.data, out);
  return made;
}

}  // namespace

Result<Outputs> run_contrib_attention(const NodeCall& node) {
  HEADWISE_TRY(refuse_inputs_from(node, ContribIn::beyond));
  HEADWISE_TRY(refuse_attribute(node, "do_rotary"));
  HEADWISE_TRY(refuse_attribute(node, "past_present_share_buffer"));
  HEADWISE_ASSIGN(const auto sizes, contrib_sizes(node));
  ContribInputs inputs(node);
  ReadyAttention ready;
  ready.call.sizes = sizes;
  ready.call.query_starts.assign(sizes.B,
                                 static_cast<std::int64_t>(sizes.past_keys));
  HEADWISE_ASSIGN(ready.call.scale, contrib_scale(node, sizes.D));
  HEADWISE_ASSIGN(ready.mask, contrib_mask(node, inputs,
                                           {.index = ContribIn::mask,
                                            .starts = true,
                                            .bias = ContribIn::attention_bias},
                                           ready.call));
  HEADWISE_ASSIGN(const auto input, inputs.floats(ContribIn::input));
  HEADWISE_ASSIGN(const auto weights, inputs.floats(ContribIn::weights));
  HEADWISE_ASSIGN(const auto given_bias,
                  inputs.floats_if_given(ContribIn::bias));
  HEADWISE_ASSIGN(const auto past, inputs.floats_if_given(ContribIn::past));
  HEADWISE_ASSIGN(const auto features, projected(*input, *weights));
  const auto bias = [&](std::size_t first) {
    return given_bias == nullptr ? nullptr : floats(*given_bias) + first;
  };
  const auto places = [&](std::size_t size, std::size_t first) {
    return merged_heads(sizes.B, sizes.Lq, features.shape[2], sizes.Hq, size,
                        first);
  };
  const auto present = [&](std::size_t size, std::size_t first,
                           std::size_t half) -> Result<Array> {
    HEADWISE_ASSIGN(auto made,
                    split_heads(features, places(size, first), bias(first)));
    if (past == nullptr) {
      return made;
    }
    HEADWISE_ASSIGN(const auto before, half_of(*past, half));
    return with_past(&before, std::vector(sizes.B, sizes.past_keys), made,
                     sizes.Lkv());
  };
  const std::size_t width = sizes.Hq * sizes.D;
  HEADWISE_ASSIGN(const auto query,
                  merged_query(features, places(sizes.D, 0), bias(0)));
  HEADWISE_ASSIGN(const auto key, present(sizes.D, width, 0));
  HEADWISE_ASSIGN(const auto value, present(sizes.Dv, 2 * width, 1));
  ready.query = &query;
  ready.key = &key;
  ready.value = &value;
  HEADWISE_ASSIGN(auto made, attend(node, ready, /*wants_scores=*/false));
  Outputs outputs;
  HEADWISE_ASSIGN(auto output, inputs.narrowed(std::move(made.output)));
  outputs.push_back(std::move(output));
  if (node.wants(1)) {
    HEADWISE_ASSIGN(auto joined, joined_present(key, value));
    HEADWISE_ASSIGN(auto narrow, inputs.narrowed(std::move(joined)));
    outputs.push_back(std::move(narrow));
  }
  return outputs;
}

}  // namespace headwise::inline HEADWISE_ABI
