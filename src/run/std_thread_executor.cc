// The executor of the thread sanitizer's build: std::thread, whose every
// hand-over the sanitizer sees (Debian's oneTBB is not instrumented).
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "run/executor.h"

namespace headwise {

struct Executor::Threads {
  std::size_t count = 1;
};

Executor::Executor(std::shared_ptr<Threads> threads)
    : threads_(std::move(threads)) {}

const Executor& Executor::default_executor() {
  static const Executor executor(std::make_shared<Threads>(
      Threads{std::max<std::size_t>(std::thread::hardware_concurrency(), 1)}));
  return executor;
}

Result<Executor> Executor::with_threads(std::size_t threads) {
  if (Status s = check_threads(threads); !s) {
    return s.error();
  }
  return Executor(std::make_shared<Threads>(Threads{threads}));
}

std::size_t Executor::threads() const { return threads_->count; }

void Executor::parallel_for(std::size_t count, std::size_t grain,
                            const Body& body) const {
  const std::size_t ranges = std::min(count_ranges(count, grain), threads());
  if (count == 0) {
    return;
  }
  if (ranges <= 1) {
    body(0, count);
    return;
  }
  std::mutex mutex;
  std::exception_ptr failure;
  std::vector<std::thread> workers;
  workers.reserve(ranges);
  for (std::size_t r = 0; r < ranges; ++r) {
    workers.emplace_back([&, r] {
      try {
        body(count * r / ranges, count * (r + 1) / ranges);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
      }
    });
  }
  for (std::thread& worker : workers) {
    worker.join();
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

}  // namespace headwise
