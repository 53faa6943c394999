// Every error of the layer, and parameters that come from outside.
#include "support/errors.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "module/layer.h"
#include "support/recorded_trace.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

// ---- Errors. ----

struct CreateError {
  MultiHeadAttentionConfig config;
  std::string message;
};

TEST(MultiHeadAttentionErrorsTest, AConfigThatMakesNoSenseNamesTheSize) {
  const std::vector<CreateError> errors = {
      {{.num_heads = 2}, "embed_dim is 0, expected at least 1"},
      {{.embed_dim = 8}, "num_heads is 0, expected at least 1"},
      {{.embed_dim = 8, .num_heads = 2, .query_dim = 0},
       "query_dim is 0, expected at least 1"},
      {{.embed_dim = 8, .num_heads = 2, .kdim = 0},
       "kdim is 0, expected at least 1"},
      {{.embed_dim = 8, .num_heads = 2, .vdim = 0},
       "vdim is 0, expected at least 1"},
      {{.embed_dim = 8, .num_heads = 2, .head_dim = 0},
       "head_dim is 0, expected at least 1"},
      {{.embed_dim = 8, .num_heads = 2, .v_head_dim = 0},
       "v_head_dim is 0, expected at least 1"},
      {{.embed_dim = 8, .num_heads = 3},
       "embed_dim is 8, expected a multiple of num_heads = 3 (or give "
       "head_dim)"},
      {{.embed_dim = 8, .num_heads = 2, .dropout = 1.5},
       "dropout is 1.5, expected a number from 0 to 1"},
      {{.embed_dim = 8, .num_heads = 2, .dropout = -0.1},
       "dropout is -0.1, expected a number from 0 to 1"}};
  for (const auto& [config, message] : errors) {
    const auto layer = MultiHeadAttention::create(config, Seed{7});
    ASSERT_FALSE(layer) << message;
    EXPECT_EQ(layer.error().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(layer.error().message(), "multi_head_attention: " + message);
  }
}

TEST(MultiHeadAttentionErrorsTest, SizesWhoseProductOverflowsAreAnError) {
  // 2 * (2^63 + 1) is 2 in 64 bits.
  const std::size_t half = std::size_t{1} << 63;
  const std::vector<MultiHeadAttentionConfig> configs = {
      {.embed_dim = 8, .num_heads = 2, .head_dim = half + 1},
      {.embed_dim = 8, .num_heads = 2, .head_dim = 4, .v_head_dim = half + 1},
      {.embed_dim = 8, .num_heads = half + 1, .head_dim = 2}};
  for (const MultiHeadAttentionConfig& config : configs) {
    const auto layer = MultiHeadAttention::create(config, Seed{7});
    ASSERT_FALSE(layer);
    EXPECT_EQ(layer.error().code(), ErrorCode::out_of_memory);
  }
}

TEST(MultiHeadAttentionErrorsTest, AnInputOfAnotherShapeNamesIt) {
  const auto layer = layer_of(
      {.embed_dim = 8, .num_heads = 2, .query_dim = 5, .kdim = 6, .vdim = 7});
  const auto query = uniform<3>({2, 3, 5}, 30);
  const auto key = uniform<3>({2, 4, 6}, 31);
  const auto value = uniform<3>({2, 4, 7}, 32);
  const auto message_of = [&](TensorView<const float, 3> q,
                              TensorView<const float, 3> k,
                              TensorView<const float, 3> v) {
    const auto result = layer.forward(q, k, v);
    if (result) {
      return std::string("no error");
    }
    EXPECT_EQ(result.error().code(), ErrorCode::shape_mismatch);
    return result.error().message();
  };
  EXPECT_EQ(message_of(key, key, value),
            "multi_head_attention: query has shape (2, 4, 6), expected (B, "
            "Lq, query_dim) = (2, 4, 5)");
  EXPECT_EQ(message_of(query, query, value),
            "multi_head_attention: key has shape (2, 3, 5), expected (B, Lkv, "
            "kdim) = (2, 3, 6)");
  EXPECT_EQ(message_of(query, key, key),
            "multi_head_attention: value has shape (2, 4, 6), expected (B, "
            "Lkv, vdim) = (2, 4, 7)");
  const auto three = uniform<3>({3, 4, 6}, 33);
  EXPECT_EQ(message_of(query, three, value),
            "multi_head_attention: key has shape (3, 4, 6), expected (B, Lkv, "
            "kdim) = (2, 4, 6)");
}

TEST(MultiHeadAttentionErrorsTest, OptionsThatDoNotFitAreErrors) {
  const auto layer = layer_of({.embed_dim = 8, .num_heads = 2});
  const auto x = uniform<3>({2, 3, 8}, 34);
  const auto lengths = filled<std::int64_t, 1>({2}, 4);
  RecordedTrace trace;
  for (TraceSink* sink :
       {static_cast<TraceSink*>(nullptr), static_cast<TraceSink*>(&trace)}) {
    const auto result =
        layer.forward(x.view(), x.view(), x.view(),
                      {.mask = key_lengths(lengths.view())}, {}, sink);
    ASSERT_FALSE(result);
    EXPECT_THAT(result, IsAbout("mask.key_lengths[0]", "4", "3"));
  }
}

// ---- Options that only the operation takes. ----

// The score weight and the groups are the layer's own, and statistics would be
// computed and then dropped.
template <class... Options>
concept ForwardTakes = requires(const MultiHeadAttention& layer,
                                TensorView<const float, 3> x,
                                const Options&... options) {
  layer.forward(x, x, x, options...);
};
template <class... Options>
concept ForwardIntoTakes = requires(const MultiHeadAttention& layer,
                                    TensorView<const float, 3> x,
                                    TensorView<float, 3> output,
                                    const Options&... options) {
  layer.forward_into(x, x, x, output, options...);
};
template <class... Options>
concept ForwardForBackwardTakes = requires(const MultiHeadAttention& layer,
                                           TensorView<const float, 3> x,
                                           const Options&... options) {
  layer.forward_for_backward(x, x, x, options...);
};
static_assert(ForwardTakes<AttentionOptions, LayerOptions> &&
              !ForwardTakes<OperationOptions> &&
              !ForwardTakes<AttentionOptions, OperationOptions>);
static_assert(ForwardIntoTakes<AttentionOptions, LayerOptions> &&
              !ForwardIntoTakes<OperationOptions> &&
              !ForwardIntoTakes<AttentionOptions, OperationOptions>);
static_assert(ForwardForBackwardTakes<AttentionOptions, LayerOptions> &&
              !ForwardForBackwardTakes<OperationOptions> &&
              !ForwardForBackwardTakes<AttentionOptions, OperationOptions>);

// ---- Parameters from outside. ----

Linear linear_of(std::size_t out, std::size_t in, bool bias = true) {
  return Linear::create({.in_features = in, .out_features = out, .bias = bias},
                        RandomStream(Seed{1}, 40))
      .value();
}

TEST(FromParamsTest, TheSizesComeFromTheParameters) {
  const auto layer =
      MultiHeadAttention::from_params({.w_q = linear_of(6, 3, false),
                                       .w_k = linear_of(6, 4, false),
                                       .w_v = linear_of(10, 5, false),
                                       .w_o = linear_of(7, 10, false)},
                                      2)
          .value();
  EXPECT_EQ(layer.config().embed_dim, 7u);
  EXPECT_EQ(layer.config().num_heads, 2u);
  EXPECT_EQ(layer.config().query_dim, 3u);
  EXPECT_EQ(layer.config().kdim, 4u);
  EXPECT_EQ(layer.config().vdim, 5u);
  EXPECT_EQ(layer.config().head_dim, 3u);
  EXPECT_EQ(layer.config().v_head_dim, 5u);
  EXPECT_FALSE(layer.config().bias);
  EXPECT_TRUE(layer.config().out_proj);
}

TEST(FromParamsTest, WithoutAnOutputProjectionTheOutputIsTheMergedHeads) {
  const auto layer = MultiHeadAttention::from_params({.w_q = linear_of(6, 3),
                                                      .w_k = linear_of(6, 3),
                                                      .w_v = linear_of(10, 3)},
                                                     2)
                         .value();
  EXPECT_FALSE(layer.config().out_proj);
  EXPECT_EQ(layer.config().embed_dim, 10u);
  const auto x = uniform<3>({1, 4, 3}, 41);
  EXPECT_EQ(forward_of(layer, x).output.extents(), (Extents<3>{1, 4, 10}));
}

TEST(FromParamsTest, AProjectionMayHaveABiasWhereOthersHaveNone) {
  const auto layer =
      MultiHeadAttention::from_params({.w_q = linear_of(6, 3, true),
                                       .w_k = linear_of(6, 3, false),
                                       .w_v = linear_of(6, 3, true),
                                       .w_o = linear_of(3, 6, false)},
                                      2)
          .value();
  const auto x = uniform<3>({1, 4, 3}, 42);
  EXPECT_EQ(forward_of(layer, x).output.extents(), (Extents<3>{1, 4, 3}));
}

TEST(FromParamsTest, TheParametersOfALayerGiveThatLayerAgain) {
  const auto layer = layer_of({.embed_dim = 8, .num_heads = 2});
  const auto copy_of_linear = [](const Linear& linear) {
    auto weight = Tensor<float, 2>::create(linear.weight().extents()).value();
    std::copy_n(linear.weight().data(), weight.size(), weight.data());
    auto bias = Tensor<float, 1>::create(linear.bias().extents()).value();
    std::copy_n(linear.bias().data(), bias.size(), bias.data());
    return Linear::from_params(std::move(weight), std::move(bias)).value();
  };
  const auto again = MultiHeadAttention::from_params(
                         {.w_q = copy_of_linear(layer.params()->w_q),
                          .w_k = copy_of_linear(layer.params()->w_k),
                          .w_v = copy_of_linear(*layer.params()->w_v),
                          .w_o = copy_of_linear(*layer.params()->w_o)},
                         2)
                         .value();
  EXPECT_TRUE(same_params(layer, again));
  const auto x = uniform<3>({2, 4, 8}, 43);
  EXPECT_TRUE(
      same_bits(forward_of(layer, x).output, forward_of(again, x).output));
}

TEST(FromParamsTest, ParametersThatDoNotFitNameTheOne) {
  const auto error_of = [](MultiHeadAttentionParams params,
                           std::size_t num_heads, ErrorCode code) {
    const auto layer =
        MultiHeadAttention::from_params(std::move(params), num_heads);
    if (layer) {
      return std::string("no error");
    }
    EXPECT_EQ(layer.error().code(), code);
    return layer.error().message();
  };
  const ErrorCode invalid = ErrorCode::invalid_argument;
  const ErrorCode shape = ErrorCode::shape_mismatch;
  EXPECT_EQ(error_of({linear_of(6, 3), linear_of(6, 3), linear_of(6, 3), {}}, 0,
                     invalid),
            "multi_head_attention: num_heads is 0, expected at least 1 in a "
            "layer without w_v or w_o");
  EXPECT_EQ(error_of({linear_of(5, 3), linear_of(5, 3), linear_of(6, 3), {}}, 2,
                     invalid),
            "multi_head_attention: w_q.weight has 5 rows, "
            "expected a multiple of num_heads = 2");
  EXPECT_EQ(error_of({linear_of(6, 3), linear_of(5, 3), linear_of(6, 3), {}}, 2,
                     invalid),
            "multi_head_attention: w_k.weight has 5 rows, "
            "expected a multiple of num_heads = 2");
  EXPECT_EQ(error_of({linear_of(6, 3), linear_of(6, 3), linear_of(7, 3), {}}, 2,
                     invalid),
            "multi_head_attention: w_v.weight has 7 rows, "
            "expected a multiple of num_heads = 2");
  EXPECT_EQ(error_of({linear_of(6, 3), linear_of(8, 4), linear_of(6, 3), {}}, 2,
                     shape),
            "multi_head_attention: w_k.weight has shape (8, 4), expected "
            "(rows of w_q.weight, kdim) = (6, 4)");
  EXPECT_EQ(error_of({linear_of(6, 3), linear_of(6, 3), linear_of(8, 3),
                      linear_of(5, 6)},
                     2, shape),
            "multi_head_attention: w_o.weight has shape (5, 6), expected "
            "(embed_dim, rows of w_v.weight) = (5, 8)");
}

}  // namespace
}  // namespace headwise::testing_support
