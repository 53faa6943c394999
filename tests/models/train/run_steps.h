// A training run, whichever, as tests use it.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>

#include "headwise/run/executor.h"
#include "interop/files.h"

namespace headwise::testing_support {

template <class Run>
void take_steps(Run& run, int count, std::size_t threads = 2) {
  const Executor executor = Executor::with_threads(threads).value();
  for (int n = 0; n < count; ++n) {
    const Status s = run.step(executor);
    ASSERT_TRUE(s) << s.error().message();
  }
}

// All that a run is: parameters, optimiser, losses.
template <class Run>
Bytes saved_bytes(const Run& run) {
  const TempFolder folder;
  EXPECT_TRUE(run.write_checkpoint_to(folder / "c.npz"));
  return file_bytes(folder / "c.npz");
}

}  // namespace headwise::testing_support
