// Each allocation of each public call of the core fails once: an error comes
// back, also where what failed was the message of another error.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "headwise/attention/backward.h"
#include "headwise/attention/forward.h"
#include "headwise/attention/plan.h"
#include "headwise/attention/reference.h"
#include "headwise/attention/statistics.h"
#include "headwise/attention/stepwise.h"
#include "headwise/kernels/targets.h"
#include "headwise/module/loss.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/module/optimizer.h"
#include "headwise/run/workspace.h"
#include "headwise/steps/embedding.h"
#include "headwise/steps/gelu.h"
#include "headwise/steps/head_gates.h"
#include "headwise/steps/heads.h"
#include "headwise/steps/layer_norm.h"
#include "headwise/steps/merge.h"
#include "headwise/steps/padding.h"
#include "support/failures.h"
#include "support/tensors.h"

namespace headwise {
namespace {

using testing_support::failing_allocation;
using testing_support::failures_of;
using testing_support::filled;
using testing_support::tensor_of;
using testing_support::uniform;
using testing_support::view_of;

// One thread: what oneTBB does without memory is its own affair.
const Executor& alone() {
  static const Executor executor = Executor::with_threads(1).value();
  return executor;
}

// Calls `work`, which fails by itself, until all its allocations are served;
// how many did not.
template <class Work>
long failures_of_an_error(const Work& work) {
  for (long nth = 1;; ++nth) {
    failing_allocation() = nth;
    const auto result = work();
    const bool all_served = failing_allocation() > 0;
    failing_allocation() = 0;
    EXPECT_FALSE(result);
    if (result || all_served) {
      return nth - 1;
    }
    EXPECT_FALSE(result.error().message().empty());
  }
}

template <class T>
Status as_status(const Result<T>& result) {
  // The copy of the message is the test's.
  const long nth = std::exchange(failing_allocation(), 0);
  Status s = result ? ok() : Status(result.error());
  failing_allocation() = nth;
  return s;
}

struct NamedCall {
  std::string name;
  std::function<Status()> call;
};

TEST(OutOfMemoryTest, EveryAllocationOfALayerMayFail) {
  const MultiHeadAttentionConfig config = {
      .embed_dim = 4, .num_heads = 2, .dropout = 0.5};
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

TEST(OutOfMemoryTest, EveryAllocationOfAStepMayFail) {
  const AttentionShape shape = {
      .B = 2, .Hq = 2, .Hkv = 2, .Lq = 3, .Lkv = 3, .D = 4, .Dv = 4};
  const auto x = uniform<4>({2, 3, 2, 4}, 2);
  const auto v = view_of(x);
  auto y = filled<float, 4>({2, 3, 2, 4}, 0);
  const auto mask = filled<bool, 2>({3, 3}, true);
  const auto bias = uniform<2>({3, 3}, 3);
  const AttentionOptions options = {
      .mask = dense(view_of(mask), {Axis::Lq, Axis::Lkv}) & causal(),
      .bias = dense(view_of(bias), {Axis::Lq, Axis::Lkv}),
      .executor = &alone()};
  const OperationOptions counted = {
      .statistics = {
          .rows = true, .top_keys = 2, .columns = true, .map = true}};
  const Embedding embedding =
      Embedding::create({.vocab_size = 9, .embed_dim = 4}, Seed{1}).value();
  const auto ids = tensor_of<TokenId, 2>({1, 3}, {1, 2, 1});
  const auto rows = uniform<3>({1, 3, 4}, 4);
  const RaggedTokens tokens = {{1, 2, 3}, {4}};
  const auto logits = uniform<2>({3, 4}, 5);
  const auto targets = tensor_of<std::int64_t, 1>({3}, {0, 1, 2});
  const auto gates = filled<float, 1>({2}, 1);
  const Linear linear = Linear::create({.in_features = 4, .out_features = 4},
                                       RandomStream(Seed{1}, 1))
                            .value();
  const BoundMask bound =
      BoundMask::bind(options.mask, {shape, QueryStart(0), "test"}).value();
  const std::vector<NamedCall> calls = {
      {"attention", [&] { return attention(v, v, v, y, options); }},
      {"reference_attention",
       [&] { return reference_attention<float>(v, v, v, {y}, options); }},
      {"stepwise_attention",
       [&] { return as_status(stepwise_attention(v, v, v, options)); }},
      {"attention_statistics",
       [&] {
         return as_status(attention_statistics(v, v, v, {y}, options, counted));
       }},
      {"AttentionPlan::create",
       [&] { return as_status(AttentionPlan::create(shape, options)); }},
      {"BoundMask::materialize",
       [&] { return as_status(bound.materialize(1)); }},
      {"Embedding::forward", [&] { return as_status(embedding.forward(ids)); }},
      {"Embedding::backward",
       [&] { return as_status(embedding.backward(ids, rows)); }},
      {"Linear::from_params",
       [&] {
         auto weight = Tensor<float, 2>::create({3, 4});
         return weight ? as_status(Linear::from_params(*std::move(weight)))
                       : Status(weight.error());
       }},
      {"Linear::forward",
       [&] { return as_status(linear.forward(rows, "x", alone())); }},
      {"Linear::backward_input",
       [&] { return as_status(linear.backward_input(rows, "d_y", alone())); }},
      {"Linear::backward_params",
       [&] {
         return as_status(linear.backward_params(rows, rows, {}, alone()));
       }},
      {"gate_heads_backward",
       [&] {
         return as_status(gate_heads_backward(v, gates, v, y, {}, alone()));
       }},
      {"pad", [&] { return as_status(pad(tokens)); }},
      {"alibi_slopes", [&] { return as_status(alibi_slopes(12)); }},
      {"cross_entropy",
       [&] { return as_status(cross_entropy(logits, targets)); }},
      {"mean_squared_error",
       [&] {
         return as_status(mean_squared_error(view_of(logits), view_of(logits)));
       }},
      {"Workspace::create", [&] { return as_status(Workspace::create(100)); }},
      {"Executor::with_threads",
       [&] { return as_status(Executor::with_threads(1)); }}};
  for (const auto& [name, call] : calls) {
    SCOPED_TRACE(name);
    EXPECT_GT(failures_of(call), 0);
  }
}

TEST(OutOfMemoryTest, EveryAllocationOfAMessageMayFail) {
  // The default argument of several calls, made while there is memory.
  EXPECT_GT(Executor::default_executor().threads(), 0u);
  const AttentionShape shape = {
      .B = 2, .Hq = 2, .Hkv = 2, .Lq = 3, .Lkv = 3, .D = 4, .Dv = 4};
  const auto x = uniform<4>({2, 3, 2, 4}, 2);
  const auto v = view_of(x);
  auto y = filled<float, 4>({2, 3, 2, 4}, 0);
  auto flat = filled<float, 2>({3, 4}, 0);
  auto narrow = filled<float, 2>({3, 3}, 0);
  const auto lengths = tensor_of<std::int64_t, 1>({2}, {3, 9});
  const auto nan_gates = filled<float, 1>({2}, kNaN);
  const auto nan_slopes = filled<float, 1>({2}, kNaN);
  const auto offsets = tensor_of<std::int64_t, 1>({2}, {0, 7});
  const LayerNormParams norm = {filled<float, 1>({3}, 1),
                                filled<float, 1>({3}, 0)};
  const auto ids = tensor_of<TokenId, 2>({1, 2}, {1, 99});
  const Embedding embedding =
      Embedding::create({.vocab_size = 9, .embed_dim = 4}, Seed{1}).value();
  const auto logits = uniform<2>({3, 4}, 5);
  const auto targets = tensor_of<std::int64_t, 1>({3}, {0, 1, 99});
  const AttentionOptions plain = {.executor = &alone()};
  const AttentionOptions beyond = {.mask = key_lengths(lengths),
                                   .executor = &alone()};
  const std::vector<NamedCall> calls = {
      {"shape",
       [&] {
         return attention(v, v, {x.data(), {2, 3, 1, 4}}, y, plain);
       }},
      {"options",
       [&] {
         return attention(v, v, v, y, {.softcap = -1, .executor = &alone()});
       }},
      {"mask", [&] { return attention(v, v, v, y, beyond); }},
      {"slopes",
       [&] {
         return attention(v, v, v, y,
                          {.alibi = nan_slopes, .executor = &alone()});
       }},
      {"offsets",
       [&] {
         return attention(v, v, v, y,
                          {.offsets = offsets, .executor = &alone()});
       }},
      {"overlap", [&] { return attention(v, v, view_of(y), y, plain); }},
      {"backward",
       [&] {
         return attention_backward({v, v, v, v, v, v}, {}, plain);
       }},
      {"plan",
       [&] {
         return as_status(AttentionPlan::create(
             shape, {.scale = kNaN, .executor = &alone()}));
       }},
      {"layer_norm", [&] { return layer_norm(flat, norm, flat); }},
      {"gelu", [&] { return gelu(flat, narrow); }},
      {"gate_heads", [&] { return gate_heads(v, nan_gates, y); }},
      {"split_heads",
       [&] {
         return as_status(
             split_heads(TensorView<const float, 3>(x.data(), {2, 3, 8}), 3));
       }},
      {"merge_heads",
       [&] {
         return as_status(merge_heads(TensorView<const float, 4>(
             x.data(), {2, 3, 2, 2}, {24, 8, 4, 1})));
       }},
      {"Linear",
       [&] {
         return as_status(Linear::create({.in_features = 0, .out_features = 1},
                                         RandomStream(Seed{1}, 1)));
       }},
      {"Embedding::create",
       [&] { return as_status(Embedding::create({}, Seed{1})); }},
      {"Embedding::forward", [&] { return as_status(embedding.forward(ids)); }},
      {"tokens", [&] { return check_token(7, 1, 2, 3); }},
      {"with_threads", [&] { return as_status(Executor::with_threads(0)); }},
      {"layer",
       [&] {
         return as_status(MultiHeadAttention::create(
             {.embed_dim = 5, .num_heads = 2}, Seed{1}));
       }},
      {"optimizer",
       [&] {
         return as_status(
             Optimizer::create(AdamWConfig{.learning_rate = kNaN}));
       }},
      {"cross_entropy",
       [&] { return as_status(cross_entropy(logits, targets)); }},
      {"mean_squared_error", [&] {
         return as_status(mean_squared_error(view_of(flat), view_of(narrow)));
       }}};
  for (const auto& [name, call] : calls) {
    SCOPED_TRACE(name);
    EXPECT_GT(failures_of_an_error(call), 0);
  }
}

// What tells that there is no memory needs none.
TEST(OutOfMemoryTest, SizesBeyondAllMemoryAllocateNothing) {
  constexpr std::size_t kMost = ~std::size_t{0};
  const std::size_t before = testing_support::allocations;
  const auto overflowing = Tensor<float, 2>::create({kMost, 9});
  const auto workspace = Workspace::create(kMost);
  const Error copy = workspace.error();
  EXPECT_EQ(testing_support::allocations, before);
  EXPECT_EQ(overflowing.error().code(), ErrorCode::out_of_memory);
  EXPECT_EQ(copy.code(), ErrorCode::out_of_memory);
  EXPECT_EQ(copy.bytes_needed(), kMost);
}

}  // namespace
}  // namespace headwise
