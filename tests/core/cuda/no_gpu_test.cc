// A build with CUDA on a machine without a GPU.
#include <gtest/gtest.h>

#include "cuda/device_tensors.h"

namespace headwise {
namespace {

TEST(NoGpuTest, IsAnErrorThatSaysSoAndTheCpuGoesOn) {
  if (testing_support::has_gpu()) {
    GTEST_SKIP() << "there is a GPU here";
  }
  const AttentionShape shape = {
      .B = 1, .Hq = 2, .Hkv = 2, .Lq = 3, .Lkv = 3, .D = 8, .Dv = 8};
  const auto plan = DeviceAttentionPlan<BFloat16>::create(
      shape, {}, {.device = Device::cuda()});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code(), ErrorCode::unsupported);
  EXPECT_EQ(plan.error().message(),
            "attention: device is cuda, expected an NVIDIA GPU with a driver "
            "for CUDA 13");
  const auto in = testing_support::random_inputs(shape, 3);
  auto out = testing_support::outputs_for(in, AttnWeights::none);
  EXPECT_TRUE(attention(in.query.view(), in.key.view(), in.value.view(),
                        out.output.view()));
}

}  // namespace
}  // namespace headwise
