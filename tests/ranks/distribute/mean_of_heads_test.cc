// The mean of attention weights over the heads of ranks: that of one process.

#include <string>
#include <vector>

#include "headwise/attention/backward.h"
#include "headwise/attention/forward.h"
#include "headwise/distribute/heads_attention.h"
#include "headwise/distribute/thread_ranks.h"
#include "steps/call_part.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

using internal::part_along;

constexpr std::size_t kHeads = 6;
constexpr Extents<4> kMean = {2, 1, 9, 40};

// Scores that differ so much that many weights are nearly 0.
Tensor<float, 4> weights_of(AttnWeights form) {
  const auto query = uniform<4>({2, 9, kHeads, 8}, 9900);
  const auto key = uniform<4>({2, 40, 3, 8}, 9901);
  auto output = Tensor<float, 4>::create({2, 9, kHeads, 8}).value();
  auto weights =
      Tensor<float, 4>::create(
          {2, form == AttnWeights::mean ? std::size_t{1} : kHeads, 9, 40})
          .value();
  const Status s =
      attention(query.view(), key.view(), key.view(),
                {.output = output.view(), .attn_weights = weights.view()},
                {.scale = 25.0, .attn_weights = form});
  EXPECT_TRUE(s) << s.error().message();
  return weights;
}

ShardPlan plan_of(std::size_t ranks) {
  return plan_shards({.ranks = ranks,
                      .parallel = Parallel::heads,
                      .sequences = {{9, 40}},
                      .heads = kHeads,
                      .kv_heads = 3})
      .value();
}

TEST(MeanOfHeadsTest, HasTheBitsOfOneProcess) {
  const auto weights = weights_of(AttnWeights::per_head);
  const auto want = weights_of(AttnWeights::mean);
  for (std::size_t ranks = 1; ranks <= 5; ++ranks) {
    const ShardPlan plan = plan_of(ranks);
    const auto ended = run_ranks(ranks, [&](Communicator& group) -> Status {
      const HeadRange heads = plan.ranks[group.rank()].heads;
      HEADWISE_ASSIGN(const auto mean,
                      mean_of_heads(group, plan, kMean,
                                    part_along(1, weights.view(),
                                               {heads.first, heads.count})));
      if (group.rank() == 0) {
        EXPECT_TRUE(same_bits(mean, want)) << ranks << " ranks";
      } else {
        EXPECT_EQ(mean.size(), 0u);
      }
      return ok();
    });
    for (const Status& status : ended.value()) {
      ASSERT_TRUE(status) << status.error().message();
    }
  }
}

// A sixth of it is a denormal number, which no public function returns.
TEST(MeanOfHeadsTest, ASmallWeight) {
  auto weights = Tensor<float, 4>::create({1, kHeads, 1, 1}).value();
  weights(0, 2, 0, 0) = 1.5e-38f;
  const ShardPlan plan = plan_of(2);
  const auto ended = run_ranks(2, [&](Communicator& group) -> Status {
    const HeadRange heads = plan.ranks[group.rank()].heads;
    HEADWISE_ASSIGN(const auto mean,
                    mean_of_heads(group, plan, {1, 1, 1, 1},
                                  part_along(1, weights.view(),
                                             {heads.first, heads.count})));
    if (group.rank() == 0) {
      EXPECT_EQ(mean.elements()[0], 0.0f);
    }
    return ok();
  });
  for (const Status& status : ended.value()) {
    ASSERT_TRUE(status) << status.error().message();
  }
}

// Rank 0 gets the mean of heads that it does not have.
TEST(MeanOfHeadsTest, HeadsOfOtherRanks) {
  const auto weights = weights_of(AttnWeights::per_head);
  const auto want = weights_of(AttnWeights::mean);
  ShardPlan plan = plan_of(2);
  plan.ranks[0].heads = {0, 0};
  plan.ranks[1].heads = {0, kHeads};
  const auto ended = run_ranks(2, [&](Communicator& group) -> Status {
    HEADWISE_ASSIGN(
        const auto mean,
        mean_of_heads(
            group, plan, kMean,
            group.rank() == 0 ? TensorView<const float, 4>() : weights.view()));
    if (group.rank() == 0) {
      EXPECT_TRUE(same_bits(mean, want));
    }
    return ok();
  });
  for (const Status& status : ended.value()) {
    ASSERT_TRUE(status) << status.error().message();
  }
}

TEST(MeanOfHeadsTest, GradientOfEachHead) {
  auto d_mean = Tensor<float, 4>::create({1, 1, 1, 2}).value();
  d_mean(0, 0, 0, 0) = 5.0f;
  d_mean(0, 0, 0, 1) = 1.5e-38f;  // a sixth of it is a denormal number
  const auto each = gradient_of_each_head(d_mean.view(), kHeads).value();
  EXPECT_EQ(each(0, 0, 0, 0), 5.0f * static_cast<float>(1.0 / 6));
  EXPECT_EQ(each(0, 0, 0, 1), 0.0f);
}

// `means`: the extents that each rank asks for.
void expect_error(const std::vector<ShardPlan>& plans,
                  const std::vector<Extents<4>>& means,
                  const std::string& expected) {
  std::vector<std::string> messages(2);
  const auto ended = run_ranks(2, [&](Communicator& group) -> Status {
    const std::size_t rank = group.rank();
    const auto& [B, H, Lq, Lkv] = means[rank];
    const std::size_t heads = plans[rank].ranks[rank].heads.count;
    const auto own = Tensor<float, 4>::create({B, heads, Lq, Lkv}).value();
    const auto mean = mean_of_heads(group, plans[rank], means[rank], own);
    messages[rank] = mean ? "no error" : mean.error().message();
    return mean ? ok() : Status(mean.error());
  });
  EXPECT_TRUE(ended);
  for (const std::string& message : messages) {
    EXPECT_THAT(message, HasSubstr(expected));
  }
}

TEST(MeanOfHeadsTest, AMistakeOfOneRankIsAnErrorOfAll) {
  expect_error({plan_of(3), plan_of(2)}, {kMean, kMean},
               "heads.ranks is 3, expected 2");
  const auto of_heads = [](std::size_t heads) {
    return Extents<4>{2, heads, 9, 40};
  };
  expect_error({plan_of(2), plan_of(2)}, {kMean, of_heads(2)},
               "mean has shape (2, 2, 9, 40)");
  expect_error({plan_of(2), plan_of(2)}, {of_heads(0), of_heads(0)},
               "mean has shape (2, 0, 9, 40)");
}

TEST(MeanOfHeadsTest, AllRanksAskForTheSame) {
  expect_error({plan_of(2), plan_of(2)}, {kMean, {2, 1, 40, 9}},
               "mean is (2, 1, 40, 9) on rank 1");
  ShardPlan other = plan_of(2);
  other.ranks[0].heads = {0, 3};
  other.ranks[1].heads = {3, 3};
  expect_error({plan_of(2), other}, {kMean, kMean}, "heads is ");
}

}  // namespace
}  // namespace headwise::testing_support
