#include "heads/batches.h"

#include <algorithm>
#include <atomic>

namespace headwise::inline HEADWISE_ABI {

std::vector<Batch> batches_of(const RaggedTokens& ids) {
  // Enough that reading the parameters costs little.
  constexpr std::size_t kMostTokens = 512;
  std::vector<Batch> batches;
  std::size_t held = 0;
  for (std::size_t n = 0; n < ids.size(); ++n) {
    if (batches.empty() || held + ids[n].size() > kMostTokens) {
      batches.push_back({n, n});
      held = 0;
    }
    batches.back().end = n + 1;
    held += ids[n].size();
  }
  return batches;
}

Status run_batches(
    std::size_t count, const Executor& executor,
    FunctionRef<Status(std::size_t n, const Executor& executor)> body) {
  const std::size_t threads = executor.threads();
  if (threads == 1 || count == 1 || 2 * count < threads) {
    for (std::size_t n = 0; n < count; ++n) {
      HEADWISE_TRY(body(n, executor));
    }
    return ok();
  }
  HEADWISE_ASSIGN(const auto alone, Executor::with_threads(1));
  std::vector<Status> done(count, ok());
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  executor.run_workers(std::min(threads, count), [&](std::size_t) {
    // Every batch before one that fails runs, so which error comes first does
    // not depend on threads.
    while (!failed) {
      const std::size_t n = next++;
      if (n >= count) {
        return;
      }
      done[n] = body(n, alone);
      if (!done[n]) {
        failed = true;
      }
    }
  });
  const auto first = std::ranges::find_if(
      done, [](const Status& s) { return !static_cast<bool>(s); });
  return first == done.end() ? ok() : *first;
}

}  // namespace headwise::inline HEADWISE_ABI
