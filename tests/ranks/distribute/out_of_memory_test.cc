// Each allocation of one rank in a call of all ranks fails once: its error ends
// the group, and no transfer keeps the bytes of a rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "headwise/distribute/communicator.h"
#include "headwise/distribute/context_cache.h"
#include "headwise/distribute/thread_ranks.h"
#include "headwise/run/executor.h"
#include "support/allocations.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t kRanks = 3;

// What ranks have ready for a collective function.
struct Ready {
  std::vector<Bytes> in = std::vector<Bytes>(kRanks, Bytes(200));
  std::vector<std::span<std::byte>> into{in.begin(), in.end()};
  std::vector<std::span<const std::byte>> out{in.begin(), in.end()};
};

// Returns how many allocations of rank 1 were seen to fail.
int failures_of(FunctionRef<Status(Communicator&, Ready&)> work) {
  for (int failing = 1;; ++failing) {
    const auto ended = run_ranks(kRanks, [&](Communicator& group) -> Status {
                         Ready ready;
                         if (group.rank() == 1) {
                           failing_allocation() = failing;
                         }
                         Status status = work(group, ready);
                         failing_allocation() = 0;
                         if (!status) {  // it has ended, with all transfers
                           EXPECT_FALSE(group.start_send({}, group.rank()))
                               << failing;
                         }
                         return status;
                       }).value();
    if (std::ranges::all_of(ended, [](const Status& s) { return bool{s}; })) {
      return failing - 1;
    }
    EXPECT_FALSE(ended[1]) << failing;
    for (const Status& status : ended) {
      if (!status) {
        EXPECT_EQ(status.error().message().find("did not answer"),
                  std::string::npos)
            << failing;
      }
    }
  }
}

TEST(DistributeOutOfMemoryTest, ARankWithoutMemoryEndsTheGroup) {
  EXPECT_GT(
      failures_of([](Communicator& group, Ready&) { return group.barrier(); }),
      0);
  EXPECT_GT(failures_of([](Communicator& group, Ready& ready) {
              return group.broadcast(ready.in[0], 1);
            }),
            0);
  EXPECT_GT(failures_of([](Communicator& group, Ready& ready) {
              return group.gather(ready.in[0], ready.into, 1);
            }),
            0);
  EXPECT_GT(failures_of([](Communicator& group, Ready& ready) {
              return group.exchange(ready.out, ready.into);
            }),
            0);
  EXPECT_GT(failures_of(
                [](Communicator& group, Ready&) { return group.agree(ok()); }),
            0);
  EXPECT_GT(failures_of([](Communicator& group, Ready&) {
              return group.check_same("a text that is long", "the same text");
            }),
            0);
}

// While the rows of others are on their way to the rank.
TEST(DistributeOutOfMemoryTest, ARankWithoutMemoryEndsAStepOfACache) {
  constexpr std::size_t kTokens = 260;
  const Executor executor = Executor::with_threads(1).value();
  // oneTBB does not survive that memory runs out while it begins.
  (void)Executor::default_executor().threads();
  const auto query = uniform<4>({2, kTokens, 2, 4}, 9900);
  const auto key = uniform<4>({2, kTokens, 2, 4}, 9901);
  const auto value = uniform<4>({2, kTokens, 2, 4}, 9902);
  const auto work = [&](Communicator& group, Ready&) {
    const std::int64_t failing = std::exchange(failing_allocation(), 0);
    ContextCache cache = ContextCache::create({.rank = {.num_kv_heads = 2,
                                                        .head_dim = 4,
                                                        .page_size = 64,
                                                        .max_tokens = 1024,
                                                        .max_sequences = 2},
                                               .share_tokens = 128},
                                              group.ranks(), group.rank())
                             .value();
    const std::vector<SequenceId> ids = {cache.add().value(),
                                         cache.add().value()};
    auto output = Tensor<float, 4>::create({2, kTokens, 2, 4}).value();
    failing_allocation() = failing;
    Status status =
        cache.step(group, ids, query.view(), key.view(), value.view(),
                   output.view(), {.executor = &executor});
    failing_allocation() = 0;
    return status;
  };
  EXPECT_GT(failures_of(work), 0);
}

}  // namespace
}  // namespace headwise::testing_support
