// The executor of the thread sanitizer's build: std::thread, whose every
// hand-over the sanitizer sees (Debian's oneTBB is not instrumented).
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/out_of_memory.h"
#include "run/executor.h"

namespace headwise::inline HEADWISE_ABI {

struct Executor::Threads {
  std::size_t count = 1;
};

Result<Executor> Executor::with_threads(std::size_t threads) try {
  HEADWISE_TRY(check_threads(threads));
  return Executor(std::make_shared<Threads>(Threads{threads}));
} catch (...) {
  return caught_out_of_memory();
}

std::size_t Executor::own_threads() const {
  static const std::size_t of_process =
      std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
  return threads_ ? threads_->count : of_process;
}

void Executor::spread(std::size_t workers,
                      FunctionRef<void(std::size_t)> work) const {
  std::mutex mutex;
  std::exception_ptr failure;
  std::vector<std::thread> threads;
  threads.reserve(workers);
  const auto run = [&](std::size_t worker) {
    try {
      work(worker);
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
  for (std::size_t worker = 0; worker < workers; ++worker) {
    try {
      threads.emplace_back(run, worker);
    } catch (const std::system_error&) {  // no further thread
      run(worker);
    }
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

}  // namespace headwise::inline HEADWISE_ABI
