// Decoding by ranks that have whole sequences: the bits of one cache.

#include <cstring>
#include <string>
#include <vector>

#include "headwise/distribute/context_cache.h"
#include "headwise/distribute/thread_ranks.h"
#include "support/half_tensors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t kHq = 4;
constexpr std::size_t kHkv = 2;
constexpr std::size_t kD = 6;
constexpr std::size_t kDv = 5;

TEST(DealSequencesTest, TheLongestFirstToTheRankWithTheFewestTokens) {
  EXPECT_THAT(
      deal_sequences(std::vector<std::size_t>{10, 90, 40, 30, 20}, 2).value(),
      ElementsAre(0, 0, 1, 1, 1));
  EXPECT_THAT(deal_sequences(std::vector<std::size_t>{0, 0, 0, 0}, 3).value(),
              ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(deal_sequences({}, 3).value(), ElementsAre());
  EXPECT_THAT(deal_sequences({}, 0).error().message(), HasSubstr("ranks is 0"));
}

KvCache make_cache(DType dtype) {
  return KvCache::create({.num_kv_heads = kHkv,
                          .head_dim = kD,
                          .v_head_dim = kDv,
                          .dtype = dtype,
                          .max_tokens = 2048,
                          .max_sequences = 5})
      .value();
}

// The new tokens of five sequences. Without offsets, all have as many.
template <class T>
struct Step {
  Step(const std::vector<std::int64_t>& ends, std::uint32_t stream)
      : offsets(ends) {
    const auto rows = static_cast<std::size_t>(ends.back());
    query = narrowed_to<T>(uniform<4>({1, rows, kHq, kD}, stream));
    key = narrowed_to<T>(uniform<4>({1, rows, kHkv, kD}, stream + 1));
    value = narrowed_to<T>(uniform<4>({1, rows, kHkv, kDv}, stream + 2));
    output = Tensor<T, 4>::create({1, rows, kHq, kDv}).value();
  }

  TensorView<const std::int64_t, 1> offsets_view() const {
    return {offsets.data(), {offsets.size()}};
  }

  std::vector<std::int64_t> offsets;
  Tensor<T, 4> query;
  Tensor<T, 4> key;
  Tensor<T, 4> value;
  Tensor<T, 4> output;
};

template <class T>
std::vector<Step<T>> steps() {
  std::vector<Step<T>> made;
  made.emplace_back(std::vector<std::int64_t>{0, 300, 301, 301, 360, 500},
                    9500);
  made.emplace_back(std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}, 9510);
  made.emplace_back(std::vector<std::int64_t>{0, 1, 2, 30, 30, 31}, 9520);
  return made;
}

// Takes the steps with the sequences that belong to a rank.
template <class T, class Take>
Status run_steps(DType dtype, const std::vector<std::size_t>& owners,
                 std::size_t rank, std::vector<Step<T>>& script,
                 const Take& take) {
  KvCache cache = make_cache(dtype);
  std::vector<SequenceId> own;
  for (const std::size_t owner : owners) {
    if (owner == rank) {
      own.push_back(cache.add().value());
    }
  }
  const DecodePlan plan =
      DecodePlan::create(cache, kHq, 512, {.mask = causal()}).value();
  Workspace workspace = Workspace::create(plan.workspace_bytes()).value();
  for (Step<T>& step : script) {
    HEADWISE_TRY(take(plan, own, step, workspace));
  }
  return ok();
}

template <class T>
void expect_same(DType dtype, std::size_t ranks) {
  std::vector<Step<T>> want = steps<T>();
  ASSERT_TRUE(run_steps(dtype, {0, 0, 0, 0, 0}, 0, want,
                        [](const DecodePlan& plan, const auto& ids,
                           Step<T>& step, Workspace& workspace) {
                          return plan.run(
                              ids, step.query.view(), step.key.view(),
                              step.value.view(),
                              AttentionOutputsOf<T>{.output = step.output},
                              workspace, step.offsets_view());
                        }));
  const auto owners =
      deal_sequences(std::vector<std::size_t>{300, 1, 0, 59, 140}, ranks)
          .value();
  const auto ended = run_ranks(ranks, [&](Communicator& group) -> Status {
    std::vector<Step<T>> got = steps<T>();
    HEADWISE_TRY(run_steps(dtype, owners, group.rank(), got,
                           [&](const DecodePlan& plan, const auto& own,
                               Step<T>& step, Workspace& workspace) {
                             return decode_sequences(
                                 group, plan, {owners, own}, step.query.view(),
                                 step.key.view(), step.value.view(),
                                 step.output.view(), workspace,
                                 step.offsets_view());
                           }));
    for (std::size_t n = 0; n < got.size(); ++n) {
      EXPECT_EQ(std::memcmp(got[n].output.data(), want[n].output.data(),
                            want[n].output.size() * sizeof(T)),
                0)
          << "step " << n << " on rank " << group.rank() << " of " << ranks;
    }
    return ok();
  });
  for (const Status& status : ended.value()) {
    EXPECT_TRUE(status) << status.error().message();
  }
}

TEST(SequenceDecodeTest, EveryNumberOfRanks) {
  for (std::size_t ranks = 1; ranks <= 8; ++ranks) {
    expect_same<float>(DType::float32, ranks);
  }
}

TEST(SequenceDecodeTest, EveryType) {
  expect_same<float>(DType::int8, 3);
  expect_same<BFloat16>(DType::bfloat16, 2);
  expect_same<Float16>(DType::float32, 2);
}

TEST(SequenceDecodeTest, ABatchWithoutOffsets) {
  const auto q = uniform<4>({2, 3, kHq, kD}, 9600);
  const auto k = uniform<4>({2, 3, kHkv, kD}, 9601);
  const auto v = uniform<4>({2, 3, kHkv, kDv}, 9602);
  KvCache one = make_cache(DType::float32);
  const std::vector<SequenceId> ids = {one.add().value(), one.add().value()};
  const DecodePlan plan = DecodePlan::create(one, kHq, 6, {}).value();
  Workspace workspace = Workspace::create(plan.workspace_bytes()).value();
  auto want = Tensor<float, 4>::create({2, 3, kHq, kDv}).value();
  ASSERT_TRUE(
      plan.run(ids, q.view(), k.view(), v.view(), {.output = want}, workspace));
  const std::vector<std::size_t> owners = {1, 0};
  const auto ended = run_ranks(3, [&](Communicator& group) -> Status {
    KvCache cache = make_cache(DType::float32);
    std::vector<SequenceId> own;
    if (group.rank() < 2) {
      own.push_back(cache.add().value());
    }
    const DecodePlan of_rank = DecodePlan::create(cache, kHq, 6, {}).value();
    Workspace memory = Workspace::create(of_rank.workspace_bytes()).value();
    auto got = Tensor<float, 4>::create({2, 3, kHq, kDv}).value();
    HEADWISE_TRY(decode_sequences(group, of_rank, {owners, own}, q.view(),
                                  k.view(), v.view(), got.view(), memory));
    EXPECT_TRUE(same_bits(got, want));
    return ok();
  });
  for (const Status& status : ended.value()) {
    EXPECT_TRUE(status) << status.error().message();
  }
}

TEST(SequenceDecodeTest, RanksWithOtherCallsAreToldApart) {
  const auto q = uniform<4>({2, 1, kHq, kD}, 9700);
  const auto k = uniform<4>({2, 1, kHkv, kD}, 9701);
  const auto v = uniform<4>({2, 1, kHkv, kDv}, 9702);
  const auto ended = run_ranks(2, [&](Communicator& group) {
    const std::vector<std::size_t> owners = {group.rank(), 1 - group.rank()};
    KvCache cache = make_cache(DType::float32);
    const std::vector<SequenceId> own = {cache.add().value()};
    const DecodePlan plan = DecodePlan::create(cache, kHq, 6, {}).value();
    Workspace workspace = Workspace::create(plan.workspace_bytes()).value();
    auto output = Tensor<float, 4>::create({2, 1, kHq, kDv}).value();
    return decode_sequences(group, plan, {owners, own}, q.view(), k.view(),
                            v.view(), output.view(), workspace);
  });
  for (const Status& status : ended.value()) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::invalid_argument);
    EXPECT_THAT(status.error().message(), HasSubstr("on rank 1, expected"));
  }
}

TEST(SequenceDecodeTest, AnErrorOfOneRankIsOneOfAll) {
  const std::vector<std::size_t> owners = {0, 1};
  const auto q = uniform<4>({2, 1, kHq, kD}, 9700);
  const auto k = uniform<4>({2, 1, kHkv, kD}, 9701);
  const auto v = uniform<4>({2, 1, kHkv, kDv}, 9702);
  std::vector<std::string> messages(2);
  const auto ended = run_ranks(2, [&](Communicator& group) {
    KvCache cache = make_cache(DType::float32);
    std::vector<SequenceId> own = {cache.add().value()};
    if (group.rank() == 1) {
      EXPECT_TRUE(cache.erase(own[0]));
    }
    const DecodePlan plan = DecodePlan::create(cache, kHq, 6, {}).value();
    Workspace workspace = Workspace::create(plan.workspace_bytes()).value();
    auto output = Tensor<float, 4>::create({2, 1, kHq, kDv}).value();
    const Status s =
        decode_sequences(group, plan, {owners, own}, q.view(), k.view(),
                         v.view(), output.view(), workspace);
    messages[group.rank()] = s ? "no error" : s.error().message();
    return s;
  });
  EXPECT_TRUE(ended);
  for (const std::string& message : messages) {
    EXPECT_THAT(message, HasSubstr("ids[0] is not in the cache"));
    EXPECT_THAT(message, HasSubstr("on rank 1"));
  }
}

}  // namespace
}  // namespace headwise::testing_support
