// A process that may not create threads, as under a limit of processes.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

#include "headwise/attention/plan.h"
#include "headwise/run/executor.h"
#include "support/tensors.h"

namespace {

// How many further threads may be created.
std::atomic<int> allowed = 0;

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attr,
                              void* (*run)(void*), void* argument) {
  if (allowed.fetch_sub(1) <= 0) {
    return EAGAIN;
  }
  using Create = decltype(&pthread_create);
  static const auto create =
      reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attr, run, argument);
}

namespace headwise::testing_support {
namespace {

const AttentionShape kShape = {
    .B = 2, .Hq = 8, .Hkv = 8, .Lq = 300, .Lkv = 300, .D = 32, .Dv = 32};

Tensor<float, 4> attend_with(const Executor* executor) {
  const auto x = uniform<4>({2, 300, 8, 32}, 7);
  auto output = filled<float, 4>({2, 300, 8, 32}, 0);
  const auto plan =
      AttentionPlan::create(kShape, {.executor = executor}).value();
  EXPECT_TRUE(plan.run(x, x, x, {.output = output}));
  return output;
}

TEST(NoThreadsTest, OneThreadComputesTheSame) {
  const Executor alone = Executor::with_threads(1).value();
  const auto expected = attend_with(&alone);
  allowed = 0;
  EXPECT_TRUE(same_bits(attend_with(nullptr), expected));
  const Executor many = Executor::with_threads(4).value();
  EXPECT_TRUE(same_bits(attend_with(&many), expected));
}

// They run out after the executor has looked.
TEST(NoThreadsTest, ThreadsThatRunOutLaterAreDoneWithout) {
  allowed = 1000;
  EXPECT_GE(Executor::default_executor().threads(), 1u);
  allowed = 0;
  std::atomic<int> done = 0;
  Executor::default_executor().run_workers(50, [&](std::size_t) { ++done; });
  EXPECT_EQ(done, 50);
}

}  // namespace
}  // namespace headwise::testing_support
