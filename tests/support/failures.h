// Lets every allocation of a function fail once: link allocations.cc.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/run/executor.h"
#include "support/allocations.h"

namespace headwise::testing_support {

// oneTBB's own beginning must not fail: every later call of it would wait for
// ever.
inline void begin_threads() { Executor::default_executor().threads(); }

// Calls `work` until no allocation of it fails; how many did. Of work that is
// slow only each `step`th does. What it does without the memory that failed
// (std::stable_sort() can), `undo` takes back.
template <class Work>
std::int64_t failures_of(
    const Work& work, std::int64_t step = 1,
    const std::function<void()>& undo = [] {}) {
  begin_threads();
  for (std::int64_t nth = 1;; nth += step) {
    failing_allocation() = nth;
    const auto result = work();
    const bool all_served = failing_allocation() > 0;
    failing_allocation() = 0;
    if (all_served) {
      EXPECT_TRUE(result) << result.error().message();
      return nth - 1;
    }
    if (result) {
      undo();
      continue;
    }
    EXPECT_EQ(result.error().code(), ErrorCode::out_of_memory);
    EXPECT_FALSE(result.error().message().empty());
  }
}

// The same of work that fails by itself: without the memory for its own error
// it returns out_of_memory.
template <class Work>
std::int64_t failures_of_an_error(const Work& work) {
  begin_threads();
  const auto own = work();
  EXPECT_FALSE(own);
  if (own) {
    return 0;
  }
  EXPECT_NE(own.error().code(), ErrorCode::out_of_memory);
  for (std::int64_t nth = 1;; ++nth) {
    failing_allocation() = nth;
    const auto result = work();
    const bool all_served = failing_allocation() > 0;
    failing_allocation() = 0;
    if (result) {
      ADD_FAILURE() << "success without memory for " << own.error().message();
      return nth;
    }
    if (result.error().code() != ErrorCode::out_of_memory || all_served) {
      EXPECT_EQ(result.error().code(), own.error().code());
    }
    EXPECT_FALSE(result.error().message().empty());
    if (all_served) {
      return nth - 1;
    }
  }
}

// What tests do for themselves, such as a copy of an argument, does not count.
template <class Work>
auto not_counted(const Work& work) {
  const std::int64_t nth = std::exchange(failing_allocation(), 0);
  auto result = work();
  failing_allocation() = nth;
  return result;
}

// A call under a name, without arguments.
struct NamedCall {
  template <class Call>
  NamedCall(std::string calls_name, Call made)
      : name(std::move(calls_name)), call([made]() -> Status {
          HEADWISE_TRY(made());
          return ok();
        }) {}

  std::string name;
  std::function<Status()> call;
};

inline void expect_failures(const std::vector<NamedCall>& calls) {
  for (const auto& [name, call] : calls) {
    SCOPED_TRACE(name);
    EXPECT_GT(failures_of(call), 0);
  }
}
inline void expect_failures_of_errors(const std::vector<NamedCall>& calls) {
  for (const auto& [name, call] : calls) {
    SCOPED_TRACE(name);
    EXPECT_GT(failures_of_an_error(call), 0);
  }
}

}  // namespace headwise::testing_support
