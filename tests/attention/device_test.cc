// What the GPU's entry says before it reaches a GPU.
#include "headwise/attention/device.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headwise/attention/forward.h"
#include "headwise/run/device_buffer.h"
#include "support/errors.h"

namespace headwise {
namespace {

constexpr AttentionShape kShape = {
    .B = 1, .Hq = 2, .Hkv = 2, .Lq = 3, .Lkv = 3, .D = 8, .Dv = 8};

std::string refusal(DType dtype, const AttentionOptions& options,
                    const AttentionShape& shape = kShape) {
  const auto plan = DeviceAttentionPlan::create(shape, dtype, options);
  return plan ? "accepted" : plan.error().message();
}

TEST(DeviceTest, NamesWhatItCannotTake) {
  const AttentionOptions on_gpu = {.device = Device::cuda()};
  EXPECT_EQ(refusal(DType::bfloat16, {}),
            "attention: device is cpu, expected Device::cuda(stream) for "
            "16-bit tensors");
  EXPECT_EQ(refusal(DType::float32, on_gpu),
            "attention: dtype is float32, expected bfloat16 or float16 on "
            "cuda");
  const std::vector<float> score_weight(16);
  EXPECT_EQ(
      refusal(DType::bfloat16, {.score_weight = {score_weight.data(), {2, 8}},
                                .device = Device::cuda()}),
      "attention: score_weight is given, expected none on cuda: additive "
      "scores are the CPU's");
  const std::int64_t kv_groups[] = {0, 1, 2};
  EXPECT_EQ(refusal(DType::bfloat16,
                    {.kv_groups = {kv_groups, {3}}, .device = Device::cuda()}),
            "attention: kv_groups is given, expected none on cuda: uneven "
            "groups are the CPU's");
}

TEST(DeviceTest, ChecksTheCallAsTheCpuDoes) {
  AttentionShape odd = kShape;
  odd.Hkv = 3;
  EXPECT_EQ(
      refusal(DType::float16, {.device = Device::cuda()}, odd),
      "attention: query has 2 heads, expected a multiple of "
      "the 3 heads of key (extents are (B, L, H, D); for (B, H, L, D) data "
      "use as_blhd() or view_bhld())");
}

#ifndef HEADWISE_HAS_CUDA
TEST(DeviceTest, SaysThatItWasBuiltWithoutCuda) {
  const auto plan = DeviceAttentionPlan::create(kShape, DType::bfloat16,
                                                {.device = Device::cuda()});
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
                             {.device = Device::cuda()});
  ASSERT_FALSE(s);
  EXPECT_THAT(
      s, testing_support::IsAbout("device", "cuda", "cpu for float32 tensors"));
}

}  // namespace
}  // namespace headwise
