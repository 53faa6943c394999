#include "heads/batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"

namespace headwise {
namespace {

TEST(BatchesTest, ABatchHoldsWholeTextsOfAFewHundredTokens) {
  const RaggedTokens ids = {std::vector<TokenId>(300, 1),
                            std::vector<TokenId>(212, 1),
                            std::vector<TokenId>(1, 1),
                            std::vector<TokenId>(900, 1),
                            {}};
  const auto batches = batches_of(ids);
  ASSERT_EQ(batches.size(), 4u);
  EXPECT_EQ(batches[0].end, 2u);
  EXPECT_EQ(batches[1].end, 3u);
  EXPECT_EQ(batches[2].begin, 3u);
  EXPECT_EQ(batches[2].end, 4u);
  EXPECT_TRUE(batches_of({}).empty());
}

TEST(BatchesTest, EveryBatchRunsOnce) {
  for (const std::size_t threads : {1u, 3u}) {
    const auto executor = Executor::with_threads(threads).value();
    std::vector<int> runs(100);
    EXPECT_TRUE(run_batches(100, executor, [&](std::size_t n, const Executor&) {
      ++runs[n];
      return ok();
    }));
    EXPECT_EQ(runs, std::vector<int>(100, 1));
  }
}

TEST(BatchesTest, RunSideBySideWhereTheyKeepHalfOfTheThreadsBusy) {
  std::size_t workers = 0;
  const auto executor =
      Executor::with_pool(8, [&](std::size_t count,
                                 FunctionRef<void(std::size_t)> work) {
        workers = count;
        for (std::size_t worker = 0; worker < count; ++worker) {
          work(worker);
        }
      }).value();
  for (const std::size_t count : {1U, 3U, 4U, 5U, 8U, 20U}) {
    workers = 0;
    EXPECT_TRUE(run_batches(
        count, executor, [&](std::size_t, const Executor& of_batch) {
          EXPECT_EQ(of_batch.threads(), count < 4 ? 8U : 1U) << count;
          return ok();
        }));
    EXPECT_EQ(workers, count < 4 ? 0U : std::min<std::size_t>(count, 8));
  }
}

TEST(BatchesTest, TheFirstErrorIsReported) {
  for (const std::size_t threads : {1u, 4u}) {
    const auto executor = Executor::with_threads(threads).value();
    for (int again = 0; again < 200; ++again) {
      const Status done =
          run_batches(8, executor, [&](std::size_t n, const Executor&) {
            return Status(value_error("test", "n", std::to_string(n), "none"));
          });
      ASSERT_EQ(done.error().details().given, "is 0");
    }
  }
}

// Whichever fails first.
TEST(BatchesTest, TheErrorOfTheLowestBatchIsReported) {
  const auto executor = Executor::with_threads(2).value();
  std::atomic<bool> one_failed = false;
  const Status done =
      run_batches(8, executor, [&](std::size_t n, const Executor&) {
        if (n == 0) {
          for (int turn = 0; turn < 100000 && !one_failed; ++turn) {
            std::this_thread::yield();
          }
        } else {
          one_failed = true;
        }
        return Status(value_error("test", "n", std::to_string(n), "none"));
      });
  EXPECT_EQ(done.error().details().given, "is 0");
}

}  // namespace
}  // namespace headwise
