// A layer without some heads under every mask, beside the one that gates them.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "headwise/prune/remove_heads.h"
#include "module/layer.h"
#include "prune/pruned_layer.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t B = 2;
constexpr std::size_t H = 6;
constexpr std::size_t L = 20;
const Heads kGone = {1, 4, 5};  // one of a group, and a group
const Heads kLeft = {0, 2, 3};

Tensor<float, 4> some_minus_inf(Tensor<float, 4> bias) {
  for (std::size_t n = 0; n < bias.size(); n += 3) {
    bias.data()[n] = -std::numeric_limits<float>::infinity();
  }
  return bias;
}

// Tokens of documents of `length` each.
Tensor<std::int64_t, 1> documents_of(std::size_t length) {
  auto ids = Tensor<std::int64_t, 1>::create({L}).value();
  for (std::size_t n = 0; n < L; ++n) {
    ids(n) = static_cast<std::int64_t>(n / length);
  }
  return ids;
}

// What masks and biases look into, for the heads that are there.
struct Tensors {
  explicit Tensors(const Heads& heads)
      : mask_of_heads(picked(coin_tosses<4>({B, H, L, L}, 4), 1, heads)),
        bias_of_heads(
            picked(some_minus_inf(uniform<4>({B, H, L, L}, 5)), 1, heads)),
        buckets(picked(uniform<2>({8, H}, 9), 1, heads)),
        slopes(picked(uniform<1>({H}, 6, 0.1, 0.5), 0, heads)) {
    // A query that sees nothing, in one head or in all.
    for (std::size_t j = 0; j < L; ++j) {
      mask(3, j) = false;
      mask_of_heads(1, 0, 5, j) = false;
    }
  }

  Tensor<std::int64_t, 1> lengths = tensor_of<std::int64_t, 1>({B}, {13, 0});
  Tensor<std::int64_t, 2> lengths_by_query = [] {
    auto numbers = Tensor<std::int64_t, 2>::create({B, L}).value();
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      numbers.data()[n] = static_cast<std::int64_t>(n * 7 % (L + 1));
    }
    return numbers;
  }();
  Tensor<std::int64_t, 1> starts = tensor_of<std::int64_t, 1>({B}, {4, 20});
  Tensor<std::int64_t, 1> of_queries = documents_of(5);
  Tensor<std::int64_t, 1> of_keys = documents_of(7);
  Tensor<bool, 2> padding = coin_tosses<2>({B, L}, 2);
  Tensor<bool, 2> mask = coin_tosses<2>({L, L}, 3);
  Tensor<bool, 4> mask_of_heads;  // (B, heads, L, L)
  Tensor<float, 2> bias = uniform<2>({L, L}, 7);
  Tensor<float, 4> bias_of_heads;
  Tensor<float, 2> buckets;  // of T5's bias
  Tensor<float, 1> slopes;
};

template <class T, std::size_t Rank>
TensorView<const T, Rank> view(const Tensor<T, Rank>& tensor) {
  return tensor.view();
}

struct MaskCase {
  std::string name;
  std::function<AttentionOptions(const Tensors&)> options;
};

const std::array kAllAxes = {Axis::B, Axis::H, Axis::Lq, Axis::Lkv};
const std::array kTokenAxes = {Axis::Lq, Axis::Lkv};

std::vector<MaskCase> cases() {
  const auto mask = [](const std::string& name, auto of) {
    return MaskCase{name, [of](const Tensors& t) {
                      AttentionOptions options;
                      options.mask = of(t);
                      return options;
                    }};
  };
  return {
      {"None", [](const Tensors&) { return AttentionOptions(); }},
      mask("Causal", [](const Tensors&) { return causal(); }),
      mask("Window", [](const Tensors&) { return window(3, 2); }),
      mask("KeyLengths",
           [](const Tensors& t) { return key_lengths(view(t.lengths)); }),
      mask("KeyLengthsByQuery",
           [](const Tensors& t) {
             return key_lengths(view(t.lengths_by_query));
           }),
      mask("KeyStarts",
           [](const Tensors& t) { return key_starts(view(t.starts)); }),
      mask("KeyPadding",
           [](const Tensors& t) { return key_padding(view(t.padding)); }),
      mask("Documents",
           [](const Tensors& t) {
             return documents(view(t.of_queries), view(t.of_keys));
           }),
      mask("Dense",
           [](const Tensors& t) { return dense(view(t.mask), kTokenAxes); }),
      mask("DenseByHead",
           [](const Tensors& t) {
             return dense(view(t.mask_of_heads), kAllAxes);
           }),
      mask("Several",
           [](const Tensors& t) {
             return causal() & key_lengths(view(t.lengths)) &
                    dense(view(t.mask_of_heads), kAllAxes);
           }),
      {"Alibi",
       [](const Tensors& t) {
         return AttentionOptions{.mask = causal(), .alibi = view(t.slopes)};
       }},
      {"Sinks",
       [](const Tensors& t) {
         return AttentionOptions{.mask = causal(), .sinks = view(t.slopes)};
       }},
      {"Bias",
       [](const Tensors& t) {
         return AttentionOptions{.bias = dense(view(t.bias), kTokenAxes)};
       }},
      {"BiasByHead",
       [](const Tensors& t) {
         return AttentionOptions{.bias =
                                     dense(view(t.bias_of_heads), kAllAxes)};
       }},
      {"Softcap",
       [](const Tensors& t) {
         return AttentionOptions{.scale = 2.0,
                                 .softcap = 0.5,
                                 .bias = dense(view(t.bias_of_heads), kAllAxes),
                                 .t5_bias = {.table = view(t.buckets),
                                             .max_distance = 9,
                                             .bidirectional = true},
                                 .alibi = view(t.slopes),
                                 .query_start = -3};
       }},
  };
}

class MaskedHeadsTest : public testing::TestWithParam<MaskCase> {
 protected:
  const MultiHeadAttention whole_ = layer_of(
      {.embed_dim = 18, .num_heads = H, .num_kv_heads = 3, .v_head_dim = 4});
  const MultiHeadAttention left_ =
      remove_heads(whole_, kGone, ConstantPart::dropped).value();
  const Tensor<float, 3> x_ = uniform<3>({B, L, 18}, 1);
  const Tensor<float, 1> gates_ = gates_without(H, kGone);
  const Tensors all_{heads_left(H, {})};
  const Tensors some_{kLeft};
};

TEST_P(MaskedHeadsTest, TheOutputIsThatOfGatesOfZero) {
  for (const EmptyRow empty :
       {EmptyRow::zero, EmptyRow::uniform, EmptyRow::nan}) {
    AttentionOptions gated = GetParam().options(all_);
    gated.empty_rows = empty;
    gated.attn_weights = AttnWeights::per_head;
    AttentionOptions plain = GetParam().options(some_);
    plain.empty_rows = empty;
    plain.attn_weights = AttnWeights::per_head;
    const auto want =
        forward_of(whole_, x_, gated, {.head_gates = gates_.view()});
    const auto got = forward_of(left_, x_, plain);
    EXPECT_TRUE(all_near(got.output, want.output, 1e-5));
    EXPECT_TRUE(same_bits(got.lse, picked(want.lse, 1, kLeft)));
    EXPECT_TRUE(
        same_bits(got.attn_weights, picked(want.attn_weights, 1, kLeft)));
  }
}

TEST_P(MaskedHeadsTest, GradientsAreThoseOfGatesOfZero) {
  const auto d_output = uniform<3>({B, L, 18}, 8);
  const auto gradients = [&](const MultiHeadAttention& layer,
                             const AttentionOptions& options,
                             const LayerOptions& layer_options) {
    auto saved = layer
                     .forward_for_backward(x_.view(), x_.view(), x_.view(),
                                           options, layer_options)
                     .value();
    return layer.backward(saved, d_output.view()).value();
  };
  const AttentionOptions gated = GetParam().options(all_);
  const auto want = gradients(whole_, gated, {.head_gates = gates_.view()});
  const auto got = gradients(left_, GetParam().options(some_), {});
  EXPECT_TRUE(all_near(got.query, want.query, 1e-5));
  EXPECT_TRUE(all_near(got.value, want.value, 1e-5));
  EXPECT_TRUE(
      all_near(got.w_q.weight, picked(want.w_q.weight, 0, kLeft, 3), 1e-5));
  EXPECT_TRUE(
      all_near(got.w_k.weight, picked(want.w_k.weight, 0, {0, 1}, 3), 1e-5));
  if (gated.alibi.data() != nullptr) {
    EXPECT_TRUE(all_near(got.alibi, picked(want.alibi, 0, kLeft), 1e-5));
  }
  if (gated.t5_bias.table.data() != nullptr) {
    EXPECT_TRUE(all_near(got.t5_bias, picked(want.t5_bias, 1, kLeft), 1e-5));
  }
  if (gated.sinks.data() != nullptr) {
    EXPECT_TRUE(all_near(got.sinks, picked(want.sinks, 0, kLeft), 1e-5));
  }
  if (gated.bias.given() && gated.bias.axes().extents().size() == 4) {
    EXPECT_TRUE(all_near(got.bias, picked(want.bias, 1, kLeft), 1e-5));
  }
}

INSTANTIATE_TEST_SUITE_P(Masks, MaskedHeadsTest, testing::ValuesIn(cases()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace headwise::testing_support
