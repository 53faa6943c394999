// The very bits of a projection: every compiler and every instruction set with
// fused multiply-add must give these checksums. They change only when
// docs/arithmetic.md does.
#include <gtest/gtest.h>

#include <cstdint>

#include "headwise/steps/projection.h"
#include "support/checksum.h"
#include "support/targets.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

struct GoldenProjection {
  LinearConfig linear;
  std::size_t rows;
  double range;
  std::uint64_t checksum;
};

class GoldenBitsTest : public TargetTest {};

TEST_P(GoldenBitsTest, OfAProjectionAreTheseEverywhere) {
  for (const GoldenProjection& golden : {
           GoldenProjection{{.in_features = 129, .out_features = 65},
                            7,
                            2,
                            0x57de1c427156a185},
           {{.in_features = 768, .out_features = 100},
            141,
            2,
            0xa9b0f27c951de964},
           {{.in_features = 300, .out_features = 33, .bias = false},
            1,
            2,
            0x4c16193ea77b87cc},
           {{.in_features = 300, .out_features = 48},
            13,
            3e-38,
            0x6d61e69fad9f2e85},
           {{.in_features = 300, .out_features = 48},
            13,
            3e38,
            0xe99aee4b8cdc7859},
       }) {
    const Linear linear =
        Linear::create(golden.linear, RandomStream(Seed{7}, 1)).value();
    const auto x = uniform<3>({1, golden.rows, golden.linear.in_features}, 20,
                              -golden.range, golden.range);
    Checksum checksum;
    checksum.add(linear.forward(x.view()).value().elements());
    EXPECT_EQ(checksum.value(), golden.checksum)
        << golden.linear.in_features << " features, range " << golden.range;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, GoldenBitsTest,
                         testing::ValuesIn(targets(kFusedTargets)),
                         target_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoldenBitsTest);

}  // namespace
}  // namespace headwise::testing_support
