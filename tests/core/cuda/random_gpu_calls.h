// The random calls of the CPU's tests, for the GPU. How many: RC_PARAMS in the
// environment, such as max_success=2000.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <sstream>
#include <string>

#include "cuda/device_tensors.h"

namespace headwise::testing_support {

// compare(call, T{}) says what is wrong with the call in T; empty: all is well.
template <class Compare>
void expect_for_random_calls(const Compare& compare) {
  EXPECT_TRUE(rc::check([&] {
    RandomCall call = *random_exact_call();
    fit_to_gpu(call);
    const std::string failure = call.stream / 320 % 2 == 0
                                    ? compare(call, BFloat16{})
                                    : compare(call, Float16{});
    if (!failure.empty()) {
      std::ostringstream text;
      text << call << ": " << failure;
      RC_FAIL(text.str());
    }
  }));
}

}  // namespace headwise::testing_support
