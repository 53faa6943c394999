// Sequences in batches that go through a model together, side by side.
#pragma once

#include <cstddef>
#include <vector>

#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/run/executor.h"
#include "headwise/steps/tokens.h"

namespace headwise::inline HEADWISE_ABI {

// Sequences [begin, end).
struct Batch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Of at most 512 tokens, or of one sequence.
std::vector<Batch> batches_of(const RaggedTokens& ids);

// Calls body(n, executor) for each n in [0, count): if they keep at least half
// of the threads busy, in parallel, each on one thread; otherwise one after
// another, each on all threads. Returns the error of the lowest n.
Status run_batches(
    std::size_t count, const Executor& executor,
    FunctionRef<Status(std::size_t n, const Executor& executor)> body);

}  // namespace headwise::inline HEADWISE_ABI
