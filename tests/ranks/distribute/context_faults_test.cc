// A rank that fails in the middle of a call: no rank waits for ever, and
// whoever says that all is well has the right rows.
#include <gtest/gtest.h>

#include <chrono>

#include "distribute/ranked_call.h"
#include "headwise/distribute/context_attention.h"
#include "headwise/distribute/heads_attention.h"

namespace headwise::testing_support {
namespace {

using std::chrono::milliseconds;

const AttentionShape kShape = {
    .B = 1, .Hq = 3, .Hkv = 3, .Lq = 700, .Lkv = 700, .D = 4, .Dv = 3};
constexpr std::size_t kRanks = 3;
constexpr milliseconds kDeadline{100};

// How many ranks end with an error when rank 1 fails at an operation.
std::size_t failures(const RankFault& fault, const RankWork<float>& work) {
  const Inputs<float> in = random_inputs(kShape, 7700);
  const WholeCall<float> call = {kShape, in};
  const ShardPlan plan = plan_of(kShape, kRanks, Deal::zig_zag);
  WholeOutputs<float> got = by_one_process(call);
  const WholeOutputs<float> want = by_one_process(call);
  const auto start = std::chrono::steady_clock::now();
  const auto ended =
      run_ranks(
          kRanks,
          [&](Communicator& group) -> Status {
            const RankShare& share = plan.ranks[group.rank()];
            RankTensors<float> tensors(call, share);
            HEADWISE_TRY(work(group, tensors.inputs(), tensors.out.views()));
            tensors.put(call.shape(), share, got);
            return ok();
          },
          {.deadline = kDeadline, .faults = {fault}})
          .value();
  const auto waited = std::chrono::steady_clock::now() - start;
  EXPECT_LT(waited, 2 * kDeadline + milliseconds(3000));
  EXPECT_TRUE(same_bits(got, want));
  std::size_t failed = 0;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    failed += ended[rank] ? 0 : 1;
    if (!ended[rank]) {
      EXPECT_NE(ended[rank].error().message(), "") << rank;
    }
  }
  return failed;
}

void expect_no_wait_for_ever(const RankWork<float>& work) {
  using enum RankFault::Kind;
  for (const RankFault::Kind kind : {ends, hangs, loses_link, sends_short}) {
    // The first one is in the checks; those in the middle are chunks.
    EXPECT_EQ(failures({.kind = kind, .rank = 1, .at = 0, .other = 0}, work),
              kRanks);
    for (const std::size_t at : {4u, 7u, 10u, 13u}) {
      failures({.kind = kind, .rank = 1, .at = at, .other = at % 2 * 2}, work);
    }
  }
}

TEST(ContextFaultsTest, NoRankWaitsForEver) {
  const ContextCall call = {.tensors = kShape,
                            .plan = plan_of(kShape, kRanks, Deal::zig_zag),
                            .keys = KeyTransport::chunks,
                            .chunk_keys = 128};
  expect_no_wait_for_ever(
      [&](Communicator& group, const auto& own, const auto& outputs) {
        return context_attention(group, call, own, outputs);
      });
}

TEST(HeadsFaultsTest, NoRankWaitsForEver) {
  const HeadsCall call = {
      .tensors = kShape,
      .tokens = plan_of(kShape, kRanks, Deal::zig_zag),
      .heads = plan_shards({.ranks = kRanks,
                            .parallel = Parallel::heads,
                            .sequences = {{kShape.Lq, kShape.Lkv}},
                            .heads = kShape.Hq,
                            .kv_heads = kShape.Hkv})
                   .value()};
  expect_no_wait_for_ever(
      [&](Communicator& group, const auto& own, const auto& outputs) {
        return heads_attention(group, call, own, outputs);
      });
}

}  // namespace
}  // namespace headwise::testing_support
