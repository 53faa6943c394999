#include "openmp_pool.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <utility>

#include "error.h"

namespace headwise::python {
namespace {

// What compilers call for `#pragma omp parallel`: runs function(data) on so
// many threads. Of GNU's libgomp; LLVM's and Intel's libraries have it, too.
using Parallel = void (*)(void (*function)(void*), void* data, unsigned threads,
                          unsigned flags);

Parallel find_parallel(const std::string& library) {
  void* const handle =
      dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle == nullptr) {
    return nullptr;
  }
  // Looks into the libraries that it needs, too.
  void* const function = dlsym(handle, "GOMP_parallel");
  dlclose(handle);  // it was loaded before and stays
  return reinterpret_cast<Parallel>(function);
}

// OpenMP's threads stay behind where a process forks.
const pid_t loaded_in = getpid();

// The workers of one loop. Each thread takes the next one, because OpenMP may
// give fewer threads than it was asked for.
class Region {
 public:
  Region(std::size_t workers, FunctionRef<void(std::size_t)> work)
      : workers_(workers), work_(work) {}

  void run() noexcept try {
    for (std::size_t worker = next_++; worker < workers_; worker = next_++) {
      work_(worker);
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
  }

  void rethrow() const {
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

 private:
  std::size_t workers_;
  FunctionRef<void(std::size_t)> work_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

std::optional<Executor> openmp_executor(const std::string& library,
                                        std::size_t threads) {
  const Parallel parallel = find_parallel(library);
  if (parallel == nullptr) {
    return {};
  }
  Executor own = value_of(Executor::with_threads(threads));
  return value_of(Executor::with_pool(
      threads, [parallel, threads, own = std::move(own)](
                   std::size_t workers, FunctionRef<void(std::size_t)> work) {
        if (getpid() != loaded_in) {
          own.run_workers(workers, work);
          return;
        }
        Region region(workers, work);
        parallel([](void* data) { static_cast<Region*>(data)->run(); }, &region,
                 static_cast<unsigned>(std::min(threads, workers)), 0);
        region.rethrow();
      }));
}

}  // namespace headwise::python
