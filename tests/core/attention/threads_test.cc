// Attention from inside other parallel work, from many threads at once, and in
// a forked child.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "attention/attention_call.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

// Enough work for several threads.
const AttentionShape kBusy = {
    .B = 2, .Hq = 4, .Hkv = 4, .Lq = 200, .Lkv = 200, .D = 16, .Dv = 16};

TEST(ThreadsTest, ACallInsideAnotherParallelLoopHasTheSameBits) {
  const Inputs<float> in = random_inputs(kBusy, 1200);
  const Executor executor = Executor::with_threads(2).value();
  const AttentionOptions options = {.mask = causal(), .executor = &executor};
  const Outputs<float> want = attend(in, options);
  std::vector<int> right(8);
  executor.parallel_for(right.size(), 1,
                        [&](std::size_t begin, std::size_t end) {
                          for (std::size_t n = begin; n < end; ++n) {
                            right[n] = same_bits(attend(in, options), want);
                          }
                        });
  EXPECT_EQ(right, std::vector<int>(8, 1));
}

TEST(ThreadsTest, CallsFromManyThreadsAtOnceHaveTheSameBits) {
  const Inputs<float> in = random_inputs(kBusy, 1210);
  const Outputs<float> want = attend(in);
  std::vector<int> right(4);
  std::vector<std::thread> callers;
  callers.reserve(right.size());
  for (int& r : right) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 25; ++repeat) {
        r += same_bits(attend(in), want) ? 1 : 0;
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(right, std::vector<int>(4, 25));
}

TEST(ThreadsTest, AForkedChildComputesTheSameBits) {
  const Inputs<float> in = random_inputs(kBusy, 1220);
  const Executor executor = Executor::with_threads(2).value();
  const AttentionOptions options = {.executor = &executor};
  const Outputs<float> want = attend(in, options);
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    alarm(60);  // a child that hangs ends, and fails the test
    _exit(same_bits(attend(in, options), want) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace headwise::testing_support
