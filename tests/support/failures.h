// Lets every allocation of a function fail once: link allocations.cc.
#pragma once

#include <gtest/gtest.h>

#include "headwise/base/result.h"
#include "support/allocations.h"

namespace headwise::testing_support {

// Calls `work` until no allocation of it fails; how many did. Of work that is
// slow only each `step`th does.
template <class Work>
long failures_of(const Work& work, long step = 1) {
  for (long nth = 1;; nth += step) {
    failing_allocation() = nth;
    const auto result = work();
    const bool all_served = failing_allocation() > 0;
    failing_allocation() = 0;
    if (all_served) {
      EXPECT_TRUE(result) << result.error().message();
      return nth - 1;
    }
    if (result) {  // something else did without that memory
      continue;
    }
    EXPECT_EQ(result.error().code(), ErrorCode::out_of_memory);
    EXPECT_FALSE(result.error().message().empty());
  }
}

}  // namespace headwise::testing_support
