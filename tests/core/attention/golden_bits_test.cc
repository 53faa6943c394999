// The very bits: every compiler and every instruction set with fused
// multiply-add must give these checksums of output, attention weights and LSE.
// They change only when docs/arithmetic.md does: contract_test.cc is what holds
// the kernels to that page, and these hold machines to each other.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "attention/attention_call.h"
#include "support/checksum.h"
#include "support/targets.h"

namespace headwise::testing_support {
namespace {

// More than two blocks of keys and two of queries, and no multiple of anything.
const AttentionShape kShape = {
    .B = 2, .Hq = 4, .Hkv = 2, .Lq = 53, .Lkv = 301, .D = 37, .Dv = 19};

struct GoldenCall {
  std::string name;
  std::uint64_t checksum;
  AttentionOptions options;
  double range = 2;  // of the numbers in query, key and value
  OperationOptions operation_options{};
};

std::vector<GoldenCall> golden_calls(const EveryMask& every) {
  const Mask all = every.masks().back().second;
  const auto& biases = every.biases();
  const AttentionOptions with_weights = {.attn_weights = AttnWeights::per_head};
  return {
      {"plain", 0x0148fcbff2facbfb, {}},
      {"causal", 0x2796ae0d7807dfd4, {.mask = causal(), .query_start = 248}},
      {"all masks",
       0x5ad5ba58007ff7d5,
       {.mask = all, .query_start = 200, .empty_rows = EmptyRow::uniform}},
      {"softcap", 0xf6b0492150c76087, {.softcap = 3.0}, 8},
      {"bias", 0x97d03dedf4e0e2eb, {.bias = biases.biases().front().second}},
      {"t5_bias",
       0x5b214466cf081a4a,
       {.scale = 1.0, .t5_bias = biases.t5_bias(true), .query_start = 150}},
      {"alibi",
       0x1529cc0bcea10d2d,
       {.alibi = biases.slopes(), .query_start = 100}},
      {"all terms",
       0x891776f6183ddc3b,
       {.mask = causal(),
        .softcap = 2.0,
        .bias = biases.finite(),
        .alibi = biases.slopes(),
        .query_start = QueryStart::bottom_right()},
       4},
      {"sinks",
       0xbf2359362b9cef85,
       {.mask = all,
        .sinks = biases.sinks(),
        .query_start = 200,
        .attn_weights = AttnWeights::per_head}},
      {"dropout",
       0x59c8fd504e00869b,
       {.dropout = {.p = 0.3, .training = true, .seed = Seed{11}, .step = 5},
        .attn_weights = AttnWeights::after_dropout}},
      {"weights",
       0x69e0dcb10074ca23,
       {.mask = window(40, 9),
        .query_start = 60,
        .attn_weights = AttnWeights::per_head}},
      {"additive",
       0xb920afd3eccf7f45,
       {.mask = causal(),
        .query_start = 248,
        .attn_weights = AttnWeights::per_head},
       2,
       {.score_weight = every.score_weight()}},
      {"mean of the weights",
       0x31e7c12756c7ff02,
       {.attn_weights = AttnWeights::mean}},
      {"denormal scores", 0xa5ddd15f573d86c9, with_weights, 1e-21},
      {"denormal numbers", 0x5c7b49f8ad9a00a5, with_weights, 3e-38},
      {"large scores", 0x1d50ce7343a2ab3f, with_weights, 1e4},
  };
}

std::uint64_t checksum_of(const Outputs<float>& out) {
  Checksum checksum;
  checksum.add(out.output.elements());
  checksum.add(out.attn_weights.elements());
  checksum.add(out.lse.elements());
  return checksum.value();
}

class GoldenBitsTest : public TargetTest {};

TEST_P(GoldenBitsTest, OfAttentionAreTheseEverywhere) {
  const EveryMask every(kShape, true);
  for (const GoldenCall& call : golden_calls(every)) {
    const Inputs<float> in = random_inputs(kShape, 1300, call.range);
    EXPECT_EQ(checksum_of(attend(in, call.options, call.operation_options)),
              call.checksum)
        << call.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, GoldenBitsTest,
                         testing::ValuesIn(targets(kFusedTargets)),
                         target_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoldenBitsTest);

}  // namespace
}  // namespace headwise::testing_support
