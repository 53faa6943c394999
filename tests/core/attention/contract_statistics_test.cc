// The bits of the statistics are those of docs/arithmetic.md, on every
// instruction set with fused multiply-add that this machine has.
#include "attention/contract_statistics.h"

#include <gtest/gtest.h>

#include "attention/attention_call.h"
#include "support/targets.h"

namespace headwise::testing_support {
namespace {

class ContractStatisticsTest : public TargetTest {
 protected:
  static void expect_contract(const Inputs<float>& in, AttentionOptions options,
                              const std::string& name,
                              OperationOptions operation_options = {}) {
    SCOPED_TRACE(name);
    options.attn_weights = AttnWeights::none;
    options.scores = ScoresStage::none;
    StatisticsOptions& statistics = operation_options.statistics;
    statistics.rows = true;
    statistics.top_keys = 11;
    statistics.columns = true;
    statistics.map = true;
    auto out = outputs_for(in, AttnWeights::none);
    const AttentionStatistics got =
        attention_statistics(view_of(in.query), view_of(in.key),
                             view_of(in.value), out.views(), options,
                             operation_options)
            .value();
    const AttentionStatistics want =
        ContractStatistics(in, options, operation_options).run();
    EXPECT_TRUE(same_bits(got.rows, want.rows));
    EXPECT_TRUE(
        std::ranges::equal(got.top_keys.elements(), want.top_keys.elements()));
    EXPECT_TRUE(same_bits(got.top_weights, want.top_weights));
    EXPECT_TRUE(same_bits(got.columns, want.columns));
    EXPECT_TRUE(same_bits(got.map_mean, want.map_mean));
    EXPECT_TRUE(same_bits(got.map_largest, want.map_largest));
  }
};

TEST_P(ContractStatisticsTest, HoldsForEveryMaskAndOption) {
  for (const AttentionShape& shape : kShapes) {
    const Inputs<float> in = random_inputs(shape, 800);
    const auto separators = coin_tosses<2>({shape.B, shape.Lkv}, 801, 0.2);
    const EveryMask every_mask(shape, true);
    for (auto [name, options, operation_options] : every_options(every_mask)) {
      operation_options.statistics.separators = view_of(separators);
      expect_contract(in, options, name, operation_options);
    }
  }
}

TEST_P(ContractStatisticsTest, HoldsForSizesAroundTilesBlocksAndCells) {
  for (const std::size_t Lq : {1u, 15u, 48u, 49u, 97u, 800u}) {
    for (const std::size_t Lkv : {1u, 63u, 65u, 128u, 129u, 300u}) {
      const Inputs<float> in = random_inputs({1, 2, 1, Lq, Lkv, 9, 11}, 802);
      expect_contract(in, {.mask = causal(), .query_start = 20}, "causal");
    }
  }
}

TEST_P(ContractStatisticsTest, HoldsForUnevenGroups) {
  expect_contract(random_inputs({2, 7, 2, 97, 300, 9, 11}, 803),
                  {.mask = causal()}, "groups of 3 and 4",
                  {.kv_groups = groups_of({3, 4})});
}

INSTANTIATE_TEST_SUITE_P(Targets, ContractStatisticsTest,
                         testing::ValuesIn(targets(kFusedTargets)),
                         target_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ContractStatisticsTest);

}  // namespace
}  // namespace headwise::testing_support
