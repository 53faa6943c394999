// Each allocation of each step fails once: an error comes back, also where what
// failed was the text of another error.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "headwise/base/layout.h"
#include "headwise/kernels/targets.h"
#include "headwise/run/device_buffer.h"
#include "headwise/run/workspace.h"
#include "headwise/steps/activation.h"
#include "headwise/steps/alibi.h"
#include "headwise/steps/bias.h"
#include "headwise/steps/dropout.h"
#include "headwise/steps/embedding.h"
#include "headwise/steps/head_gates.h"
#include "headwise/steps/head_groups.h"
#include "headwise/steps/heads.h"
#include "headwise/steps/layer_norm.h"
#include "headwise/steps/mask.h"
#include "headwise/steps/norm_heads.h"
#include "headwise/steps/padding.h"
#include "headwise/steps/projection.h"
#include "headwise/steps/rotary.h"
#include "headwise/steps/rotate_heads.h"
#include "headwise/steps/scores.h"
#include "headwise/steps/softmax.h"
#include "headwise/steps/t5_bias.h"
#include "headwise/steps/weigh.h"
#include "steps/check_head_gates.h"
#include "steps/check_token.h"
#include "support/failures.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

// One thread: what oneTBB does without memory is its own affair. (Once its
// beginning has failed, every later call of it waits for ever.)
const Executor& alone() {
  static const Executor executor = Executor::with_threads(1).value();
  return executor;
}

const AttentionShape kShape = {
    .B = 2, .Hq = 2, .Hkv = 2, .Lq = 3, .Lkv = 3, .D = 4, .Dv = 4};
const QkNorm kNorm = {.plus_one = true};
const CallContext kContext = {kShape, QueryStart(0), "test"};

class StepFailuresTest : public testing::Test {
 protected:
  void SetUp() override { alone(); }

  Embedding embedding() const {
    return Embedding::create({.vocab_size = 9, .embed_dim = 4}, Seed{1})
        .value();
  }
  Linear linear() const {
    return Linear::create({.in_features = 4, .out_features = 4},
                          RandomStream(Seed{1}, 1))
        .value();
  }
  BoundMask mask() const {
    return BoundMask::bind(
               dense(dense_mask_.view(), {Axis::Lq, Axis::Lkv}) & causal(),
               kContext)
        .value();
  }

  Tensor<float, 4> x_ = uniform<4>({2, 3, 2, 4}, 2);        // (B, L, H, D)
  Tensor<float, 4> y_ = filled<float, 4>({2, 3, 2, 4}, 0);  // the same
  Tensor<float, 4> s_ = uniform<4>({2, 2, 3, 3}, 3);        // (B, H, Lq, Lkv)
  Tensor<float, 4> other_ = filled<float, 4>({2, 2, 3, 4}, 0);  // of no scores
  Tensor<float, 3> rows_ = uniform<3>({1, 3, 4}, 4);
  Tensor<float, 2> flat_ = filled<float, 2>({3, 4}, 0);
  Tensor<float, 2> d_flat_ = filled<float, 2>({3, 4}, 0);
  Tensor<float, 2> narrow_ = filled<float, 2>({3, 3}, 0);
  Tensor<bool, 2> dense_mask_ = filled<bool, 2>({3, 3}, true);
  Tensor<TokenId, 2> ids_ = tensor_of<TokenId, 2>({1, 3}, {1, 2, 1});
  Rotary rotary_ = Rotary::create({.rotary_dim = 4}).value();
  HeadNormParams norm_params_ = {filled<float, 1>({4}, 0)};
  std::vector<std::int64_t> starts_ = {1, 2};
  Tensor<float, 1> gates_ = filled<float, 1>({2}, 1);
  Tensor<float, 1> nan_ = filled<float, 1>({2}, kNaN);
};

TEST_F(StepFailuresTest, EveryAllocationMayFail) {
  const Embedding embed = embedding();
  const Linear linear_step = linear();
  const BoundMask bound = mask();
  const BoundDropout dropout =
      BoundDropout::bind({.p = 0.5, .training = true}, kContext).value();
  const RaggedTokens tokens = {{1, 2, 3}, {4}};
  const std::vector<std::size_t> sizes = {1, 1};
  const LayerNormParams norm = {filled<float, 1>({4}, 1),
                                filled<float, 1>({4}, 0)};
  expect_failures(
      {{"alibi_slopes", [&] { return alibi_slopes(12); }},
       {"BoundDropout::materialize", [&] { return dropout.materialize(); }},
       {"BoundMask::materialize", [&] { return bound.materialize(1); }},
       {"current_target", [] { return current_target(); }},
       {"Embedding::create",
        [] {
          return Embedding::create({.vocab_size = 9, .embed_dim = 4}, Seed{1});
        }},
       {"Embedding::forward", [&] { return embed.forward(ids_); }},
       {"Embedding::backward", [&] { return embed.backward(ids_, rows_); }},
       {"Executor::with_threads", [] { return Executor::with_threads(1); }},
       {"gate_heads_backward",
        [&] { return gate_heads_backward(x_, gates_, x_, y_, {}, alone()); }},
       {"HeadGroups::create", [&] { return HeadGroups::create(sizes); }},
       {"layer_norm_backward",
        [&] {
          return layer_norm_backward(flat_, norm, flat_, d_flat_, {}, alone());
        }},
       {"Linear::create",
        [] {
          return Linear::create({.in_features = 4, .out_features = 4},
                                RandomStream(Seed{1}, 1));
        }},
       {"Linear::from_params",
        [] {
          auto weight = Tensor<float, 2>::create({3, 4});
          return weight ? Linear::from_params(*std::move(weight))
                        : Result<Linear>(weight.error());
        }},
       {"Linear::forward",
        [&] { return linear_step.forward(rows_, "x", alone()); }},
       {"Linear::backward_input",
        [&] { return linear_step.backward_input(rows_, "d_y", alone()); }},
       {"Linear::backward_params",
        [&] { return linear_step.backward_params(rows_, rows_, {}, alone()); }},
       {"norm_heads",
        [&] { return norm_heads(kNorm, norm_params_, x_, y_, alone()); }},
       {"norm_heads_backward",
        [&] {
          return norm_heads_backward(kNorm, norm_params_, x_, x_, y_, {},
                                     alone());
        }},
       {"pad", [&] { return pad(tokens); }},
       {"Tensor::create",
        [] {
          return Tensor<float, 2>::create({3, 4});
        }},
       {"Rotary::create",
        [] {
          return Rotary::create(
              {.rotary_dim = 4,
               .scaling = YarnScaling{.factor = 2, .original_length = 8}});
        }},
       {"Rotary::from_tables",
        [&] { return Rotary::from_tables(flat_, flat_); }},
       {"rotate_heads",
        [&] {
          return rotate_heads(rotary_, {y_, y_}, kShape, QueryStart(starts_),
                              {}, alone());
        }},
       {"Tensor::clone", [&] { return x_.clone(); }},
       {"Workspace::create", [] { return Workspace::create(100); }}});
}

TEST_F(StepFailuresTest, EveryAllocationOfAnErrorMayFail) {
  const Embedding embed = embedding();
  const Linear linear_step = linear();
  const auto far_ids = tensor_of<TokenId, 2>({1, 2}, {1, 99});
  const auto lengths = tensor_of<std::int64_t, 1>({2}, {3, 9});
  const auto offsets = tensor_of<std::int64_t, 1>({2}, {0, 7});
  const LayerNormParams norm = {filled<float, 1>({3}, 1),
                                filled<float, 1>({3}, 0)};
  const HeadGroups groups =
      HeadGroups::create(std::vector<std::size_t>{1, 2}).value();
  const std::vector<std::size_t> empty_group = {1, 0};
  const std::vector<float> elements(7);
  const BoundMask bound = mask();
  const BoundDropout dropout =
      BoundDropout::bind({.p = 0.5, .training = true}, kContext).value();
  const BoundAlibi alibi = BoundAlibi::bind(gates_, kContext).value();
  const BoundT5Bias t5 =
      BoundT5Bias::bind({.table = {gates_.data(), {2, 2}, {0, 1}}}, kContext)
          .value();
  const BoundBias bias =
      BoundBias::bind(dense(view_of(narrow_), {Axis::Lq, Axis::Lkv}), kContext)
          .value();
  const auto lse = filled<float, 3>({2, 2, 3}, 0);
  auto wrong_lse = filled<float, 3>({2, 2, 2}, 0);
  const TensorView<const float, 3> whole(x_.data(), {2, 3, 8});
  expect_failures_of_errors({
      {"activate",
       [&] { return activate(Activation::silu, flat_, narrow_, alone()); }},
      {"activate_backward",
       [&] {
         return activate_backward(Activation::silu, flat_, narrow_, flat_,
                                  alone());
       }},
      {"activate_gate",
       [&] {
         return activate_gate(Activation::silu, flat_, narrow_, flat_, alone());
       }},
      {"activate_gate_backward",
       [&] {
         return activate_gate_backward(Activation::silu, flat_, flat_, flat_,
                                       d_flat_, d_flat_, alone());
       }},
      {"add_alibi", [&] { return add_alibi(s_, alibi, other_, alone()); }},
      {"add_t5_bias", [&] { return add_t5_bias(s_, t5, other_, alone()); }},
      {"add_bias", [&] { return add_bias(s_, bias, other_, alone()); }},
      {"add_layer_norm",
       [&] { return add_layer_norm(flat_, flat_, norm, flat_, alone()); }},
      {"additive_scores",
       [&] { return additive_scores(x_, x_, narrow_, s_, alone()); }},
      {"apply_dropout", [&] { return apply_dropout(s_, dropout, other_); }},
      {"apply_mask", [&] { return apply_mask(s_, bound, other_); }},
      {"apply_softcap", [&] { return apply_softcap(s_, 1, other_, alone()); }},
      {"average_heads", [&] { return average_heads(s_, other_); }},
      {"BoundAlibi::bind", [&] { return BoundAlibi::bind(nan_, kContext); }},
      {"BoundT5Bias::bind",
       [&] {
         return BoundT5Bias::bind({.table = {nan_.data(), {2, 2}, {0, 1}}},
                                  kContext);
       }},
      {"BoundBias::bind",
       [&] {
         return BoundBias::bind(dense(view_of(flat_), {Axis::Lq, Axis::Lkv}),
                                kContext);
       }},
      {"BoundDropout::bind",
       [] { return BoundDropout::bind({.p = 2}, kContext); }},
      {"BoundMask::bind",
       [&] { return BoundMask::bind(key_lengths(lengths), kContext); }},
      {"check_head_gates",
       [&] { return internal::check_head_gates("test", nan_, 2); }},
      {"check_token", [] { return check_token(7, 1, 2, 3); }},
      {"check_tokens",
       [] {
         return check_tokens(not_counted([] {
                               return RaggedTokens{{1}, {99}};
                             }),
                             9);
       }},
      {"DeviceBuffer::create", [] { return DeviceBuffer::create(8, {}); }},
      {"DeviceBuffer::copy_from",
       [&] {
         return DeviceBuffer().copy_from(std::as_bytes(std::span(elements)));
       }},
      {"DeviceBuffer::copy_to",
       [&] {
         return DeviceBuffer().copy_to(std::as_writable_bytes(y_.elements()));
       }},
      {"wait_for", [] { return wait_for({}); }},
      {"name_of", [] { return name_of(Device()); }},
      {"Embedding::create", [] { return Embedding::create({}, Seed{1}); }},
      {"Embedding::from_weight", [] { return Embedding::from_weight({}); }},
      {"Embedding::forward", [&] { return embed.forward(far_ids); }},
      {"Embedding::backward", [&] { return embed.backward(far_ids, rows_); }},
      {"gate_heads", [&] { return gate_heads(x_, nan_, y_, alone()); }},
      {"HeadGroups::create", [&] { return HeadGroups::create(empty_group); }},
      {"HeadGroups::check", [&] { return groups.check(4, 2, "test"); }},
      {"layer_norm", [&] { return layer_norm(flat_, norm, flat_, alone()); }},
      {"norm_heads",
       [&] { return norm_heads({.eps = 0}, norm_params_, x_, y_, alone()); }},
      {"norm_heads_backward",
       [&] {
         return norm_heads_backward(kNorm, norm_params_, s_, s_, s_, {},
                                    alone());
       }},
      {"Linear::create",
       [] {
         return Linear::create({.in_features = 0, .out_features = 1},
                               RandomStream(Seed{1}, 1));
       }},
      {"Linear::forward_into",
       [&] { return linear_step.forward_into(rows_, {}, "x", alone()); }},
      {"merge_heads",
       [&] {
         return merge_heads(TensorView<const float, 4>(x_.data(), {2, 3, 2, 2},
                                                       {24, 8, 4, 1}));
       }},
      {"NamedAxes::check",
       [] {
         return NamedAxes({2}, {1}, {Axis::Lq}).check(kShape, "test", "bias");
       }},
      {"Offsets::check", [&] { return Offsets(offsets).check(3, 3, "test"); }},
      {"QueryStart::check",
       [&] { return QueryStart(offsets.view()).check({.B = 3}); }},
      {"Rotary::create", [] { return Rotary::create({.rotary_dim = 3}); }},
      {"Rotary::from_tables",
       [&] { return Rotary::from_tables(flat_, narrow_); }},
      {"rotate",
       [&] { return rotary_.rotate(x_, y_, {.start = -1}, alone()); }},
      {"rotate_back", [&] { return rotary_.rotate_back(x_, s_, {}, alone()); }},
      {"rotate_heads",
       [&] {
         return rotate_heads(rotary_, {y_, y_}, kShape, QueryStart(-1), {},
                             alone());
       }},
      {"scores", [&] { return scores(x_, x_, 1, other_, alone()); }},
      {"softmax",
       [&] { return softmax(s_, EmptyRow::zero, s_, wrong_lse, alone()); }},
      {"split_heads", [&] { return split_heads(whole, 3); }},
      {"view_blhd", [&] { return view_blhd(elements, 1, 2, 2, 2); }},
      {"view_bhld", [&] { return view_bhld(elements, 1, 2, 2, 2); }},
      {"weigh",
       [&] {
         return weigh(s_, x_, bound, lse, EmptyRow::zero, other_, alone());
       }},
      {"with_threads", [] { return Executor::with_threads(0); }},
  });
}

// A default argument of many calls.
TEST(ExecutorFailuresTest, TheDefaultAllocatesNothing) {
  const std::size_t before = allocations;
  const Executor& executor = Executor::default_executor();
  EXPECT_EQ(allocations, before);
  EXPECT_GT(executor.threads(), 0u);
}

// What tells that there is no memory needs none.
TEST(ExhaustedTest, SizesBeyondAllMemoryAllocateNothing) {
  constexpr std::size_t kMost = ~std::size_t{0};
  const std::size_t before = allocations;
  const auto overflowing = Tensor<float, 2>::create({kMost, 9});
  const auto workspace = Workspace::create(kMost);
  const Error copy = workspace.error();
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(overflowing.error().code(), ErrorCode::out_of_memory);
  EXPECT_EQ(copy.code(), ErrorCode::out_of_memory);
  EXPECT_EQ(copy.bytes_needed(), kMost);
}

}  // namespace
}  // namespace headwise::testing_support
