// Each allocation of each call of attention fails once: an error comes back,
// also where what failed was the text of another error. memory_test.cc shows
// that nothing was written then.
#include <gtest/gtest.h>

#include <cstdint>

#include "headwise/attention/backward.h"
#include "headwise/attention/device_attention.h"
#include "headwise/attention/forward.h"
#include "headwise/attention/plan.h"
#include "headwise/attention/reference.h"
#include "headwise/attention/statistics.h"
#include "headwise/attention/stepwise.h"
#include "support/failures.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

// One thread: what oneTBB does without memory is its own affair.
const Executor& alone() {
  static const Executor executor = Executor::with_threads(1).value();
  return executor;
}

const AttentionShape kShape = {
    .B = 2, .Hq = 2, .Hkv = 2, .Lq = 3, .Lkv = 3, .D = 4, .Dv = 4};

class AttentionFailuresTest : public testing::Test {
 protected:
  AttentionOptions options() const {
    return {.mask = dense(mask_.view(), {Axis::Lq, Axis::Lkv}) & causal(),
            .bias = dense(view_of(bias_), {Axis::Lq, Axis::Lkv}),
            .executor = &alone()};
  }
  static OperationOptions counted() {
    return {.statistics = {
                .rows = true, .top_keys = 2, .columns = true, .map = true}};
  }
  BackwardInputs backward_inputs() const {
    return {x_, x_, x_, x_, softmax_rows_, x_};
  }

  Tensor<float, 4> x_ = uniform<4>({2, 3, 2, 4}, 2);
  Tensor<float, 4> y_ = filled<float, 4>({2, 3, 2, 4}, 0);
  Tensor<float, 4> softmax_rows_ = filled<float, 4>({2, 2, 3, 2}, 1);
  Tensor<bool, 2> mask_ = filled<bool, 2>({3, 3}, true);
  Tensor<float, 2> bias_ = uniform<2>({3, 3}, 3);
  Tensor<float, 1> nan_ = filled<float, 1>({2}, kNaN);
};

TEST_F(AttentionFailuresTest, EveryAllocationMayFail) {
  const AttentionSpec spec =
      AttentionSpec::create(kShape, options(), counted()).value();
  const AttentionPlan plan = AttentionPlan::create(kShape, options()).value();
  const auto statistics =
      attention_statistics(x_, x_, x_, {y_}, options(), counted()).value();
  expect_failures(
      {{"attention", [&] { return attention(x_, x_, x_, y_, options()); }},
       {"attention_backward",
        [&] {
          return attention_backward(backward_inputs(), {.query = y_},
                                    options());
        }},
       {"attention_statistics",
        [&] {
          return attention_statistics(x_, x_, x_, {y_}, options(), counted());
        }},
       {"AttentionPlan::create",
        [&] { return AttentionPlan::create(kShape, options()); }},
       {"AttentionPlan::run", [&] { return plan.run(x_, x_, x_, {y_}); }},
       {"AttentionStatistics::create",
        [&] { return AttentionStatistics::create(spec); }},
       {"pool_statistics",
        [&] { return pool_statistics(statistics.rows, spec); }},
       {"reference_attention",
        [&] {
          return reference_attention<float>(x_, x_, x_, {y_}, options());
        }},
       {"reference_attention_backward",
        [&] {
          return reference_attention_backward<float>(backward_inputs(),
                                                     {.query = y_}, options());
        }},
       {"stepwise_attention",
        [&] { return stepwise_attention(x_, x_, x_, options()); }}});
}

TEST_F(AttentionFailuresTest, EveryAllocationOfAnErrorMayFail) {
  const auto lengths = tensor_of<std::int64_t, 1>({2}, {3, 9});
  const auto offsets = tensor_of<std::int64_t, 1>({2}, {0, 7});
  const auto ends = tensor_of<std::int64_t, 1>({2}, {0, 3});
  const auto far_ends = tensor_of<std::int64_t, 1>({2}, {0, 9});
  const AttentionShape ragged = {
      .B = 1, .Hq = 2, .Hkv = 2, .Lq = 3, .Lkv = 3, .D = 4, .Dv = 4};
  AttentionPlan plan =
      AttentionPlan::create(ragged, {.offsets = ends, .executor = &alone()})
          .value();
  AttentionSpec spec =
      AttentionSpec::create(ragged, {.offsets = ends, .executor = &alone()},
                            {.statistics = {.rows = true}})
          .value();
  auto workspace = Workspace::create(1).value();
  AttentionOptions plain = {.executor = &alone()};
  AttentionOptions beyond = plain;
  beyond.mask = key_lengths(lengths);
  AttentionOptions sloped = plain;
  sloped.alibi = nan_;
  AttentionOptions bucketed = plain;
  bucketed.t5_bias.table = {nan_.data(), {2, 2}, {0, 1}};
  AttentionOptions sunk = plain;
  sunk.sinks = nan_;
  AttentionOptions capped = plain;
  capped.softcap = -1;
  AttentionOptions far = plain;
  far.offsets = offsets;
  AttentionOptions scaled = plain;
  scaled.scale = kNaN;
  const OperationOptions keyless = {
      .added_keys = {.bias_k = {nan_.data(), {1, 2}}}};
  const OperationOptions in_part = {.key_part = KeyPart::first};
  const OperationOptions many = {.statistics = {.top_keys = 99}};
  const TensorView<const float, 4> narrow(x_.data(), {2, 3, 1, 4});
  const BFloat16 halves[48] = {};
  const TensorView<const BFloat16, 4> half(halves, {2, 3, 2, 4});
  expect_failures_of_errors({
      {"shape", [&] { return attention(x_, x_, narrow, y_, plain); }},
      {"softcap", [&] { return attention(x_, x_, x_, y_, capped); }},
      {"mask", [&] { return attention(x_, x_, x_, y_, beyond); }},
      {"slopes", [&] { return attention(x_, x_, x_, y_, sloped); }},
      {"buckets", [&] { return attention(x_, x_, x_, y_, bucketed); }},
      {"sinks", [&] { return attention(x_, x_, x_, y_, sunk); }},
      {"added keys", [&] { return attention(x_, x_, x_, y_, plain, keyless); }},
      {"part", [&] { return attention(x_, x_, x_, y_, plain, in_part); }},
      {"offsets", [&] { return attention(x_, x_, x_, y_, far); }},
      {"overlap", [&] { return attention(x_, x_, view_of(y_), y_, plain); }},
      {"attention_backward",
       [&] {
         return attention_backward({x_, x_, x_, x_, x_, x_}, {}, plain);
       }},
      {"attention_shape",
       [&] {
         return attention_shape(x_.extents(), narrow.extents(), x_.extents());
       }},
      {"attention_statistics",
       [&] { return attention_statistics(x_, x_, x_, {y_}, plain, many); }},
      {"AttentionPlan::create",
       [&] { return AttentionPlan::create(kShape, scaled); }},
      {"AttentionPlan::run",
       [&] { return plan.run(x_, x_, x_, {y_}, workspace); }},
      {"AttentionPlan::run with offsets",
       [&] { return plan.run(x_, x_, x_, {y_}, workspace, far_ends); }},
      {"AttentionSpec::create",
       [&] { return AttentionSpec::create(kShape, scaled); }},
      {"AttentionSpec::set_offsets",
       [&] { return spec.set_offsets(far_ends); }},
      {"BoundStatistics::bind",
       [&] {
         return BoundStatistics::bind({.top_keys = 99}, {.shape = kShape});
       }},
      {"DeviceAttentionPlan::create",
       [&] {
         return DeviceAttentionPlan<BFloat16>::create(kShape, plain, {});
       }},
      {"attention of 16 bits",
       [&] {
         return attention(half, half, half, AttentionOutputsOf<BFloat16>(),
                          plain);
       }},
      {"attention_backward of 16 bits",
       [&] {
         return attention_backward(
             BackwardInputsOf<BFloat16>{half, half, half, half, {}, half}, {},
             plain);
       }},
      {"reference_attention",
       [&] { return reference_attention<float>(x_, x_, narrow, {y_}, plain); }},
      {"reference_attention of a part",
       [&] {
         return reference_attention<float>(x_, x_, x_, {y_}, plain, in_part);
       }},
      {"reference_attention_backward",
       [&] {
         return reference_attention_backward<float>({x_, x_, x_, x_, x_, x_},
                                                    {}, plain);
       }},
      {"stepwise_attention",
       [&] { return stepwise_attention(x_, x_, narrow, plain); }},
  });
}

}  // namespace
}  // namespace headwise::testing_support
