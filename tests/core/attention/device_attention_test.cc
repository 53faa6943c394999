// What the GPU's entry says before it reaches a GPU.
#include "headwise/attention/device_attention.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headwise/attention/forward.h"
#include "headwise/run/device_buffer.h"
#include "support/errors.h"

namespace headwise {
namespace {

const AttentionShape kShape = {
    .B = 1, .Hq = 2, .Hkv = 2, .Lq = 3, .Lkv = 3, .D = 8, .Dv = 8};

std::string refusal(const OperationOptions& operation_options,
                    const AttentionShape& shape = kShape,
                    const AttentionOptions& options = {}) {
  const auto plan =
      DeviceAttentionPlan<BFloat16>::create(shape, options, operation_options);
  return plan ? "accepted" : plan.error().message();
}

TEST(DeviceTest, NamesWhatItCannotTake) {
  EXPECT_EQ(refusal({}),
            "attention: device is cpu, expected Device::cuda(stream); "
            "AttentionPlan is for the CPU");
  const std::vector<float> score_weight(16);
  EXPECT_EQ(refusal({.score_weight = {score_weight.data(), {2, 8}},
                     .device = Device::cuda()}),
            "attention: score_weight is given, expected none on cuda: only the "
            "CPU has additive scores");
  const std::vector<std::size_t> sizes = {1, 1};
  EXPECT_EQ(
      refusal({.kv_groups = HeadGroups::create(sizes).value(),
               .device = Device::cuda()}),
      "attention: kv_groups is given, expected none on cuda: only the CPU "
      "has uneven groups");
  EXPECT_EQ(refusal({.device = Device::cuda()}, kShape,
                    {.t5_bias = {.table = {score_weight.data(), {8, 2}}}}),
            "attention: t5_bias is given, expected none on cuda: only the CPU "
            "has relative positions");
  EXPECT_EQ(refusal({.device = Device::cuda()}, kShape,
                    {.scores = ScoresStage::softmax}),
            "attention: scores is asked for, expected none on cuda: only the "
            "CPU returns them");
  EXPECT_EQ(refusal({.device = Device::cuda()}, kShape,
                    {.sinks = {score_weight.data(), {2}}}),
            "attention: sinks is given, expected none on cuda: only the CPU "
            "has sinks");
  for (const AddedKeys& added :
       {AddedKeys{.zero_attn = true},
        AddedKeys{.bias_k = {score_weight.data(), {2, 8}},
        .bias_v = {score_weight.data(), {2, 8}}}}) {
    EXPECT_EQ(refusal({.added_keys = added, .device = Device::cuda()}),
              "attention: added_keys is given, expected none on cuda: only the "
              "CPU has added keys");
  }
}

TEST(DeviceTest, TakesAllKeysAndQueries) {
  EXPECT_EQ(refusal({.device = Device::cuda()}, kShape,
                    {.dropout = {.place = {.first_head = 1}}}),
            "attention: dropout.place is given, expected none on cuda: only "
            "the CPU takes a part of a call");
  EXPECT_EQ(refusal({.key_part = KeyPart::first, .device = Device::cuda()}),
            "attention: key_part is first, expected all on cuda: only the CPU "
            "takes a part of the keys");
  EXPECT_EQ(refusal({.query_part = QueryPart::last, .device = Device::cuda()}),
            "attention: query_part is last, expected all on cuda: only the CPU "
            "takes a part of the queries");
}

TEST(DeviceTest, ChecksTheCallAsTheCpuDoes) {
  AttentionShape odd = kShape;
  odd.Hkv = 3;
  EXPECT_EQ(
      refusal({.device = Device::cuda()}, odd),
      "attention: query has 2 heads, expected a multiple of the 3 heads of "
      "key; axes are (B, L, H, D), so transpose data in the order (B, H, L, "
      "D)");
}

#ifndef HEADWISE_HAS_CUDA
TEST(DeviceTest, SaysThatItWasBuiltWithoutCuda) {
  const auto plan = DeviceAttentionPlan<BFloat16>::create(
      kShape, {}, {.device = Device::cuda()});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code(), ErrorCode::unsupported);
  EXPECT_THAT(plan, testing_support::IsAbout(
                        "device", "cuda, but headwise was built without it",
                        "a build with -DHEADWISE_CUDA=ON"));
}

TEST(DeviceTest, HasNoMemoryWithoutCuda) {
  const auto buffer = DeviceBuffer::create(16, Device::cuda());
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().message(),
            "device is cuda, but headwise was built without it, expected a "
            "build with -DHEADWISE_CUDA=ON");
  EXPECT_FALSE(wait_for(Device::cuda()));
  EXPECT_FALSE(name_of(Device::cuda()));
}
#endif

TEST(DeviceTest, TheCpuRefusesADeviceThatIsNotItsOwn) {
  std::vector<float> x(48);
  const TensorView<float, 4> view(x.data(), {1, 3, 2, 8});
  const Status s = attention(TensorView<const float, 4>(view), view, view, view,
                             {}, {.device = Device::cuda()});
  ASSERT_FALSE(s);
  EXPECT_THAT(
      s, testing_support::IsAbout("device", "cuda", "cpu for float32 tensors"));
}

}  // namespace
}  // namespace headwise
