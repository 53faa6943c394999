// Each allocation of each call of a layer, a loss and an optimiser fails once:
// an error comes back, also where what failed was the text of another error.
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "headwise/module/multi_head_attention.h"
#include "headwise/module/optimizer.h"
#include "support/failures.h"
#include "support/half_tensors.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

// One thread: what oneTBB does without memory is its own affair.
const Executor& alone() {
  static const Executor executor = Executor::with_threads(1).value();
  return executor;
}

const MultiHeadAttentionConfig kConfig = {
    .embed_dim = 4, .num_heads = 2, .dropout = 0.5};

MultiHeadAttention layer_of(const MultiHeadAttentionConfig& config) {
  return MultiHeadAttention::create(config, Seed{1}).value();
}

Linear linear(std::size_t in, std::size_t out) {
  return Linear::create({.in_features = in, .out_features = out},
                        RandomStream(Seed{1}, 1))
      .value();
}

TEST(OutOfMemoryTest, EveryAllocationOfALayerMayFail) {
  const MultiHeadAttentionConfig config = {
      .embed_dim = 4,
      .num_heads = 2,
      .dropout = 0.5,
      .qk_norm = QkNorm{.kind = NormKind::layer, .plus_one = true}};
  const auto create = [&] {
    return MultiHeadAttention::create(config, Seed{1});
  };
  EXPECT_GT(failures_of(create), 10);
  auto layer = create().value();
  const auto x = uniform<3>({2, 3, 4}, 1);
  const auto v = view_of(x);
  const auto lengths = tensor_of<std::int64_t, 1>({2}, {3, 2});
  const auto gates = tensor_of<float, 1>({2}, {0.5f, 1});
  const AttentionOptions options = {
      .mask = causal() & key_lengths(lengths.view()),
      .dropout = {.p = 0.0},
      .attn_weights = AttnWeights::per_head,
      .executor = &alone()};
  const LayerOptions gated = {.head_gates = gates.view()};
  EXPECT_GT(failures_of([&] { return layer.forward(v, v, v, options, gated); }),
            5);
  auto output = filled<float, 3>({2, 3, 4}, 0);
  AttentionOptions plain = options;
  plain.attn_weights = AttnWeights::none;
  EXPECT_GT(failures_of([&] {
              return layer.forward_into(v, v, v, output.view(), plain, gated);
            }),
            5);
  const auto save = [&] {
    return layer.forward_for_backward(v, v, v, options, gated);
  };
  EXPECT_GT(failures_of(save), 5);
  long failed = 0;
  for (bool was_served = false; !was_served; ++failed) {
    auto saved = save().value();
    failing_allocation() = failed + 1;
    const auto gradients = layer.backward(saved, v);
    was_served = failing_allocation() > 0;
    failing_allocation() = 0;
    // Without memory to keep the saved tensors in, they are let go.
    EXPECT_TRUE(gradients ||
                gradients.error().code() == ErrorCode::out_of_memory);
    EXPECT_TRUE(gradients || !was_served);
  }
  EXPECT_GT(failed, 10);
}

TEST(OutOfMemoryTest, EveryAllocationOfASixteenBitCallMayFail) {
  const MultiHeadAttention layer = layer_of(kConfig);
  const auto x = narrowed_to<BFloat16>(uniform<3>({2, 3, 4}, 1));
  auto output = clone(x);
  const AttentionOptions options = {.dropout = {.p = 0.0},
                                    .executor = &alone()};
  EXPECT_GT(failures_of([&] { return layer.forward(x, x, x, options); }), 5);
  EXPECT_GT(
      failures_of([&] { return layer.forward_into(x, x, x, output, options); }),
      5);
  EXPECT_GT(
      failures_of([&] { return layer.forward_for_backward(x, x, x, options); }),
      5);
  // What was saved can be used again after a failure.
  auto saved = layer.forward_for_backward(x, x, x, options).value();
  for (long nth = 1; nth < 5; ++nth) {
    failing_allocation() = nth;
    const auto gradients = layer.backward(saved, x);
    failing_allocation() = 0;
    EXPECT_FALSE(gradients);
  }
  EXPECT_TRUE(layer.backward(saved, x));
}

TEST(OutOfMemoryTest, SizesThatCannotBeFixedStayOpen) {
  auto layer = MultiHeadAttention::create({.embed_dim = 4,
                                           .num_heads = 2,
                                           .query_dim = kOpenSize,
                                           .kdim = kOpenSize,
                                           .vdim = kOpenSize},
                                          Seed{1})
                   .value();
  for (long nth = 1;; ++nth) {
    failing_allocation() = nth;
    const Status fixed =
        layer.fix_sizes({.query_dim = 4, .kdim = 4, .vdim = 4});
    const bool all_served = failing_allocation() > 0;
    failing_allocation() = 0;
    if (all_served || fixed) {
      break;
    }
    EXPECT_EQ(fixed.error().code(), ErrorCode::out_of_memory);
    EXPECT_FALSE(layer.params());
    EXPECT_EQ(layer.config().query_dim, kOpenSize);
  }
  EXPECT_TRUE(layer.params());
}

// Parameters that fit a layer of two heads, made without counting.
MultiHeadAttentionParams some_params() {
  return not_counted([] {
    return MultiHeadAttentionParams{linear(4, 4), linear(4, 4), linear(4, 4),
                                    linear(4, 4)};
  });
}

TEST(OutOfMemoryTest, EveryAllocationOfALayerFromItsPartsMayFail) {
  expect_failures(
      {{"complete_config",
        [] {
          return complete_config(not_counted([] {
            return MultiHeadAttentionConfig{
                .embed_dim = 6, .num_heads = 3, .kv_group_sizes = {1, 2}};
          }));
        }},
       {"from_params",
        [] { return MultiHeadAttention::from_params(some_params(), 2); }},
       {"from_params of groups", [] {
          return MultiHeadAttention::from_params(some_params(),
                                                 HeadCounts{.num_heads = 2});
        }}});
}

TEST(OutOfMemoryTest, EveryAllocationOfALossMayFail) {
  const auto logits = uniform<2>({3, 4}, 5);
  const auto targets = tensor_of<std::int64_t, 1>({3}, {0, 1, 2});
  const auto far = tensor_of<std::int64_t, 1>({3}, {0, 1, 99});
  const auto x1 = filled<float, 1>({3}, 0);
  const auto x3 = filled<float, 3>({3, 4, 1}, 0);
  const auto x4 = filled<float, 4>({3, 4, 1, 1}, 0);
  expect_failures(
      {{"cross_entropy", [&] { return cross_entropy(logits, targets); }},
       {"mean_squared_error 1", [&] { return mean_squared_error(x1, x1); }},
       {"mean_squared_error 2",
        [&] { return mean_squared_error(logits, logits); }},
       {"mean_squared_error 3", [&] { return mean_squared_error(x3, x3); }},
       {"mean_squared_error 4", [&] { return mean_squared_error(x4, x4); }}});
  expect_failures_of_errors(
      {{"cross_entropy", [&] { return cross_entropy(logits, far); }},
       {"mean_squared_error", [&] {
          return mean_squared_error(
              logits, TensorView<const float, 2>(logits.data(), {2, 4}));
        }}});
}

TEST(OutOfMemoryTest, EveryAllocationOfAnOptimizerMayFail) {
  std::array<float, 3> values = {1, 2, 3};
  const std::array<float, 3> gradient = {1, 1, 1};
  const std::array<float, 3> nan = {kNaN, kNaN, kNaN};
  const std::string_view name = "a name that is longer than a small string";
  const auto stepped = [&] {
    return not_counted([&] {
      Optimizer optimizer = Optimizer::create(AdamWConfig{}).value();
      optimizer.begin_step();
      EXPECT_TRUE(optimizer.update(name, values, gradient));
      return optimizer;
    });
  };
  const Optimizer optimizer = stepped();
  const OptimizerState state = optimizer.state().value();
  OptimizerState wrong;
  wrong.values.emplace("none of its names", filled<float, 1>({3}, 0));
  expect_failures(
      {{"create of SGD", [] { return Optimizer::create(SgdConfig{}); }},
       {"create of AdamW", [] { return Optimizer::create(AdamWConfig{}); }},
       {"update",
        [&] {
          Optimizer fresh = not_counted(
              [] { return Optimizer::create(AdamWConfig{}).value(); });
          fresh.begin_step();
          return fresh.update(name, values, gradient);
        }},
       {"state", [&] { return optimizer.state(); }},
       {"set_state", [&] { return stepped().set_state(state); }}});
  expect_failures_of_errors(
      {{"create of SGD",
        [] { return Optimizer::create(SgdConfig{.learning_rate = kNaN}); }},
       {"create of AdamW",
        [] { return Optimizer::create(AdamWConfig{.learning_rate = kNaN}); }},
       {"update", [&] { return stepped().update(name, values, nan); }},
       {"set_state", [&] { return stepped().set_state(wrong); }},
       {"clip_gradient_norm", [&] {
          const std::span<float> all(values);
          return clip_gradient_norm({&all, 1}, kNaN);
        }}});
}

TEST(OutOfMemoryTest, EveryAllocationOfAnErrorOfALayerMayFail) {
  MultiHeadAttention layer = layer_of(kConfig);
  const auto x = uniform<3>({2, 3, 4}, 1);
  const auto flat = uniform<2>({3, 4}, 1);
  const auto narrow = uniform<3>({2, 3, 3}, 1);
  const TensorView<const float, 2> narrow_flat(x.data(), {3, 3});
  const auto out = filled<float, 3>({2, 3, 3}, 0);
  const AttentionOptions plain = {.dropout = {.p = 0.0}, .executor = &alone()};
  const auto save = [&] {
    return not_counted(
        [&] { return layer.forward_for_backward(x, x, x, plain).value(); });
  };
  expect_failures_of_errors({
      {"create",
       [] {
         return MultiHeadAttention::create({.embed_dim = 5, .num_heads = 2},
                                           Seed{1});
       }},
      {"complete_config",
       [] { return complete_config({.embed_dim = 5, .num_heads = 2}); }},
      {"from_params",
       [] { return MultiHeadAttention::from_params(some_params(), 3); }},
      {"fix_sizes", [&] { return layer.fix_sizes({.query_dim = 9}); }},
      {"forward", [&] { return layer.forward(x, narrow, x, plain); }},
      {"forward of rank 2",
       [&] { return layer.forward(flat, narrow_flat, flat, plain); }},
      {"forward_into", [&] { return layer.forward_into(x, x, x, {}, plain); }},
      {"forward_for_backward",
       [&] { return layer.forward_for_backward(x, narrow, x, plain); }},
      {"backward",
       [&] {
         auto saved = save();
         return layer.backward(saved, narrow);
       }},
  });
}

// The parameters may be packed anew, and the error is the callback's own.
TEST(OutOfMemoryTest, EveryAllocationOfAnUpdateMayFail) {
  MultiHeadAttention layer = layer_of(kConfig);
  failures_of([&] {
    return layer.update(
        [](std::string_view, std::span<float>) { return ok(); });
  });
  failures_of_an_error([&] {
    return layer.update([](std::string_view, std::span<float>) -> Status {
      return Error(ErrorCode::bad_data);
    });
  });
}

}  // namespace
}  // namespace headwise::testing_support
