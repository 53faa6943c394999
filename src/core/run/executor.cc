#include "run/executor.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Enough that a thread which is held up leaves little to wait for.
constexpr std::size_t kRangesOfAThread = 8;

// A worker's ranges: it takes them in turn; workers that are done help others.
struct alignas(64) Section {
  std::atomic<std::size_t> taken = 0;
};
constexpr std::size_t kMostSections = 256;

}  // namespace

struct Executor::Pool {
  std::size_t threads;
  Spread spread;
};

Executor::Executor(std::shared_ptr<Threads> threads)
    : threads_(std::move(threads)) {}
Executor::Executor(std::shared_ptr<const Pool> pool) : pool_(std::move(pool)) {}

const Executor& Executor::default_executor() noexcept {
  static const Executor executor(std::shared_ptr<Threads>{});
  return executor;
}

Result<Executor> Executor::with_pool(std::size_t threads, Spread spread) try {
  HEADWISE_TRY(check_threads(threads));
  if (!spread) {
    return argument_error("executor", "spread", "is empty", "a function");
  }
  return Executor(
      std::make_shared<const Pool>(Pool{threads, std::move(spread)}));
} catch (...) {
  return caught_out_of_memory();
}

std::size_t Executor::threads() const {
  return pool_ ? pool_->threads : own_threads();
}

void Executor::parallel_for(std::size_t count, std::size_t grain,
                            Body body) const {
  const std::size_t workers = threads();
  const std::size_t ranges = std::min(count / std::max<std::size_t>(grain, 1),
                                      kRangesOfAThread * workers);
  if (ranges <= 1 || workers == 1) {
    if (count != 0) {
      body(0, count);
    }
    return;
  }
  const std::size_t sections = std::min({workers, ranges, kMostSections});
  std::array<Section, kMostSections> of_worker;
  run_workers(sections, [&](std::size_t worker) {
    for (std::size_t at = 0; at < sections; ++at) {
      const std::size_t section = (worker + at) % sections;
      const std::size_t first = ranges * section / sections;
      const std::size_t size = ranges * (section + 1) / sections - first;
      for (std::size_t n = of_worker[section].taken++; n < size;
           n = of_worker[section].taken++) {
        const std::size_t range = first + n;
        body(range * count / ranges, (range + 1) * count / ranges);
      }
    }
  });
}

void Executor::run_workers(std::size_t workers,
                           FunctionRef<void(std::size_t)> work) const {
  if (workers > 1 && threads() > 1) {
    pool_ ? pool_->spread(workers, work) : spread(workers, work);
    return;
  }
  for (std::size_t worker = 0; worker < workers; ++worker) {
    work(worker);
  }
}

}  // namespace headwise::inline HEADWISE_ABI
