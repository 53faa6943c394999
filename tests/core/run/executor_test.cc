#include "headwise/run/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cfenv>
#include <stdexcept>
#include <vector>

namespace headwise {
namespace {

TEST(ExecutorTest, EveryIndexIsVisitedOnce) {
  for (const std::size_t threads : {1u, 2u, 3u, 7u}) {
    const Executor executor = Executor::with_threads(threads).value();
    for (const std::size_t count : {0u, 1u, 5u, 1000u}) {
      std::vector<int> visits(count);
      executor.parallel_for(count, 3, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          ++visits[i];
        }
      });
      EXPECT_THAT(visits, testing::Each(1)) << threads << " threads";
    }
  }
}

TEST(ExecutorTest, ALoopInsideALoopWorks) {
  const Executor& executor = Executor::default_executor();
  std::vector<int> visits(64);
  executor.parallel_for(8, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      executor.parallel_for(8, 1, [&](std::size_t from, std::size_t to) {
        for (std::size_t j = from; j < to; ++j) {
          ++visits[i * 8 + j];
        }
      });
    }
  });
  EXPECT_THAT(visits, testing::Each(1));
}

TEST(ExecutorTest, EveryWorkerRunsOnce) {
  for (const std::size_t threads : {1u, 2u, 7u}) {
    const Executor executor = Executor::with_threads(threads).value();
    for (const std::size_t workers : {0u, 1u, 2u, 16u}) {
      std::vector<int> runs(workers);
      executor.run_workers(workers,
                           [&](std::size_t worker) { ++runs[worker]; });
      EXPECT_THAT(runs, testing::Each(1)) << threads << " threads";
    }
  }
}

TEST(ExecutorTest, WorkGoesToAPool) {
  std::vector<std::size_t> handed_out;
  const Executor executor =
      Executor::with_pool(3, [&](std::size_t workers,
                                 FunctionRef<void(std::size_t)> work) {
        handed_out.push_back(workers);
        for (std::size_t worker = workers; worker-- > 0;) {
          work(worker);
        }
      }).value();
  EXPECT_EQ(executor.threads(), 3u);
  std::vector<int> visits(100);
  executor.parallel_for(100, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      ++visits[i];
    }
  });
  EXPECT_THAT(visits, testing::Each(1));
  EXPECT_THAT(handed_out, testing::ElementsAre(3));
  // A single worker stays with the caller.
  executor.run_workers(1, [](std::size_t) {});
  EXPECT_THAT(handed_out, testing::SizeIs(1));
}

TEST(ExecutorTest, APoolNeedsThreadsAndAFunction) {
  const auto nothing = [](std::size_t, FunctionRef<void(std::size_t)>) {};
  EXPECT_EQ(Executor::with_pool(0, nothing).error().message(),
            "executor: threads is 0, expected at least 1");
  EXPECT_EQ(Executor::with_pool(1, {}).error().message(),
            "executor: spread is empty, expected a function");
}

TEST(ExecutorTest, AnExceptionOfAWorkerReachesTheCaller) {
  const Executor executor = Executor::with_threads(2).value();
  EXPECT_THROW(executor.run_workers(
                   8, [](std::size_t) { throw std::runtime_error("no"); }),
               std::runtime_error);
}

// oneTBB has another control word than a caller who rounds up.
TEST(ExecutorTest, FloatingPointExceptionsRaisedBeforeStayRaised) {
  const Executor executor = Executor::with_threads(4).value();
  for (const Executor* of : {&executor, &Executor::default_executor()}) {
    std::fesetround(FE_UPWARD);
    std::feraiseexcept(FE_INEXACT);
    of->run_workers(64, [](std::size_t) {});
    const bool kept = std::fetestexcept(FE_INEXACT) != 0;
    std::fesetround(FE_TONEAREST);
    EXPECT_TRUE(kept);
  }
}

TEST(ExecutorTest, AnExceptionReachesTheCaller) {
  const Executor executor = Executor::with_threads(2).value();
  EXPECT_THROW(executor.parallel_for(100, 1,
                                     [](std::size_t, std::size_t) {
                                       throw std::runtime_error("no");
                                     }),
               std::runtime_error);
}

#ifndef __SANITIZE_THREAD__  // its executor starts threads for each loop
// The threads of the parent do not exist there, and may have held locks.
TEST(ExecutorTest, AForkedChildWorksInTheThreadThatCalls) {
  const auto visit_all = [](const Executor& executor) {
    std::vector<int> visits(64);
    executor.parallel_for(64, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        visits[i] += executor.threads() == 1 ? 1 : 2;
      }
    });
    return visits == std::vector<int>(64, 1);
  };
  const Executor own = Executor::with_threads(2).value();
  visit_all(own);
  const pid_t child = fork();
  if (child == 0) {
    const bool right = visit_all(Executor::default_executor()) &&
                       visit_all(own) &&
                       visit_all(Executor::with_threads(2).value());
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
#endif

TEST(ExecutorTest, NoThreadsAtAllIsAnError) {
  const Result<Executor> none = Executor::with_threads(0);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message(),
            "executor: threads is 0, expected at least 1");
}

}  // namespace
}  // namespace headwise
