// Tests that run once on each instruction set of this machine.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headwise::testing_support {

// Those with fused multiply-add, on which the arithmetic contract holds.
inline constexpr std::int64_t kFusedTargets = HWY_AVX3 | HWY_AVX2 | HWY_NEON;

// What the address sanitizer does without: it has the lanes of SSE4 and, of the
// kernels, the same lines (docs/decisions/013-tests-in-ci.md).
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEADWISE_TESTS_ADDRESSES
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HEADWISE_TESTS_ADDRESSES
#endif
#ifdef HEADWISE_TESTS_ADDRESSES
inline constexpr std::int64_t kLeftOut = HWY_EMU128;
#else
inline constexpr std::int64_t kLeftOut = 0;
#endif

// Those of `wanted` that this build has and this machine can run.
inline std::vector<std::int64_t> targets(std::int64_t wanted = ~std::int64_t{
                                             0}) {
  std::vector<std::int64_t> targets;
  std::int64_t left =
      hwy::SupportedTargets() & HWY_TARGETS & wanted & ~kLeftOut;
  for (; left != 0; left &= left - 1) {
    targets.push_back(left & -left);
  }
  return targets;
}

inline std::string target_name(
    const testing::TestParamInfo<std::int64_t>& target) {
  return hwy::TargetName(target.param);
}

// Its tests see the target of their parameter alone.
class TargetTest : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

}  // namespace headwise::testing_support
