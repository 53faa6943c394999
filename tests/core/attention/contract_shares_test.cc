// The bits of shares by norms are those of docs/arithmetic.md, on every
// instruction set with fused multiply-add that this machine has. The functions
// of heads/norm_statistics.h are attention_with_shares() with and without
// values.
#include "attention/contract_shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "attention/attention_call.h"
#include "attention/statistics/weighted_shares.h"
#include "support/targets.h"

namespace headwise::testing_support {
namespace {

using internal::attention_with_shares;
using internal::StatisticsOf;
using internal::WeightedShares;

class ContractSharesTest : public TargetTest {
 protected:
  // (B, Hq, Lkv). A few are too small to count as they are.
  static Tensor<float, 3> norms_for(const Inputs<float>& in) {
    auto norms =
        uniform<3>({in.query.extent(0), in.query.extent(2), in.key.extent(1)},
                   860, 0.1, 30);
    for (std::size_t n = 5; n < norms.size(); n += 41) {
      norms.data()[n] = n % 2 == 0 ? 0 : 0x1p-70f;
    }
    return norms;
  }

  static void expect_contract(const Inputs<float>& in,
                              const Tensor<float, 3>& norms,
                              AttentionOptions options, const std::string& name,
                              OperationOptions operation_options = {}) {
    SCOPED_TRACE(name);
    if (options.attn_weights == AttnWeights::mean) {  // not with statistics
      options.attn_weights = AttnWeights::per_head;
    }
    const auto separators =
        coin_tosses<2>({in.key.extent(0), in.key.extent(1)}, 801, 0.2);
    Outputs<float> out = outputs_for(in, options, operation_options);
    const Outputs<float> attended = attend(in, options, operation_options);
    operation_options.statistics.top_keys = 11;
    operation_options.statistics.separators = separators;
    const WeightedShares beside_attention =
        attention_with_shares("test", {in.query, in.key, in.value}, norms,
                              out.views(), options, operation_options)
            .value();
    EXPECT_TRUE(same_bits(out, attended));
    const ContractShares contract(in, norms, options, operation_options);
    const WeightedShares want = {contract.sums(), contract.run()};
    expect_same(beside_attention, want);
    Outputs<float> again = outputs_for(in, options, operation_options);
    const WeightedShares with_weights =
        attention_with_shares("test", {in.query, in.key, in.value}, norms,
                              again.views(), options, operation_options,
                              StatisticsOf::shares_and_weights)
            .value();
    EXPECT_TRUE(same_bits(again, attended));
    expect_same(with_weights, want);
    expect_same(with_weights.weights,
                weights_statistics(in, options, operation_options));
    options.attn_weights = AttnWeights::none;
    options.scores = ScoresStage::none;
    const WeightedShares alone =
        attention_with_shares(
            "test", {in.query, in.key, without_features(in.key)}, norms,
            {.output = without_features(in.query)}, options, operation_options)
            .value();
    expect_same(alone, want);
  }

 private:
  static TensorView<float, 4> without_features(const Tensor<float, 4>& like) {
    Extents<4> extents = like.extents();
    extents[3] = 0;
    return {nullptr, extents};
  }

  static AttentionStatistics weights_statistics(
      const Inputs<float>& in, const AttentionOptions& options,
      OperationOptions operation_options) {
    operation_options.statistics.rows = true;
    Outputs<float> out = outputs_for(in, options, operation_options);
    return attention_statistics(in.query, in.key, in.value, out.views(),
                                options, operation_options)
        .value();
  }

  static void expect_same(const WeightedShares& got,
                          const WeightedShares& want) {
    EXPECT_TRUE(same_bits(got.sums, want.sums));
    expect_same(got.shares, want.shares);
  }
  static void expect_same(const AttentionStatistics& got,
                          const AttentionStatistics& want) {
    EXPECT_TRUE(same_bits(got.rows, want.rows));
    EXPECT_TRUE(
        std::ranges::equal(got.top_keys.elements(), want.top_keys.elements()));
    EXPECT_TRUE(same_bits(got.top_weights, want.top_weights));
  }
};

TEST_P(ContractSharesTest, HoldsForEveryMaskAndOption) {
  for (const AttentionShape& shape : kShapes) {
    const Inputs<float> in = random_inputs(shape, 800);
    const EveryMask every_mask(shape, true);
    for (const OptionsCase& c : every_options(every_mask)) {
      expect_contract(in, norms_for(in), c.options, c.name,
                      c.operation_options);
    }
  }
}

// Values of 9 and 17 features leave one over, as the norms do.
TEST_P(ContractSharesTest, HoldsForSizesAroundVectorsTilesAndBlocks) {
  for (const std::size_t Lq : {1u, 7u, 15u, 17u, 33u, 48u, 49u, 97u}) {
    for (const std::size_t Lkv : {1u, 127u, 129u, 300u}) {
      for (const std::size_t Dv : {1u, 9u, 17u}) {
        const Inputs<float> in = random_inputs({1, 2, 1, Lq, Lkv, 9, Dv}, 802);
        expect_contract(
            in, norms_for(in),
            {.mask = causal(), .query_start = QueryStart::bottom_right()},
            "Lq " + std::to_string(Lq) + ", Lkv " + std::to_string(Lkv) +
                ", Dv " + std::to_string(Dv));
      }
    }
  }
}

TEST_P(ContractSharesTest, HoldsForUnevenGroups) {
  const Inputs<float> in = random_inputs({2, 7, 2, 97, 300, 9, 11}, 803);
  expect_contract(in, norms_for(in), {.mask = causal()}, "groups of 3 and 4",
                  {.kv_groups = groups_of({3, 4})});
}

// As the norms of padding may be.
TEST_P(ContractSharesTest, HoldsWhereNormsOfMaskedKeysAreNaN) {
  const Inputs<float> in = random_inputs({2, 3, 3, 49, 300, 8, 9}, 804);
  const auto padding = coin_tosses<2>({2, 300}, 805, 0.7);
  Tensor<float, 3> norms = norms_for(in);
  for (std::size_t n = 0; n < norms.size(); ++n) {
    if (!padding(n / 900, n % 300)) {
      norms.data()[n] = kNaN;
    }
  }
  expect_contract(in, norms, {.mask = key_padding(padding)}, "key_padding");
}

INSTANTIATE_TEST_SUITE_P(Targets, ContractSharesTest,
                         testing::ValuesIn(targets(kFusedTargets)),
                         target_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ContractSharesTest);

}  // namespace
}  // namespace headwise::testing_support
