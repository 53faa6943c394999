// The threads that do the work: how many, and how a loop is divided among them.
// Results never depend on it, only the time does. It may be called from inside
// other parallel work. A forked child has one thread if its parent used several
// before, and so has a process that may not create as many as it has
// processors.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class Executor {
 public:
  // A half-open range of a loop's indices.
  using Body = FunctionRef<void(std::size_t begin, std::size_t end)>;

  // As many threads as the process may use. Inside a oneTBB arena it stays in
  // that arena. Allocates nothing.
  static const Executor& default_executor() noexcept;
  // At most `threads` threads, and no more than the process may use. Errors:
  // invalid_argument for 0 threads.
  static Result<Executor> with_threads(std::size_t threads);
  // At most `threads` threads of another library: `spread` calls work(worker)
  // once for each worker in [0, workers) on them, in any order, and returns
  // when all are done; exceptions of `work` reach its caller. A program that
  // also computes on those threads then has one pool. Two pools would compete
  // for the processors, because idle threads spin for a while before they
  // sleep. Errors: invalid_argument for 0 threads and for an empty `spread`;
  // out_of_memory.
  using Spread = std::function<void(
      std::size_t workers, FunctionRef<void(std::size_t worker)> work)>;
  static Result<Executor> with_pool(std::size_t threads, Spread spread);

  std::size_t threads() const;
  // Calls `body` on disjoint ranges that cover [0, count) and returns when all
  // are done. A range has at least `grain` indices (the last may be shorter).
  // With one thread or one range, the loop runs on the caller's thread. An
  // exception thrown by `body` reaches the caller.
  void parallel_for(std::size_t count, std::size_t grain, Body body) const;
  // Calls `work(worker)` once for each worker in [0, workers) and returns when
  // all are done; as many run at a time as there are threads. A single worker
  // runs on the caller's thread. This is for workers that fetch their work as
  // they go; no worker may wait for another. Exceptions as above.
  void run_workers(std::size_t workers,
                   FunctionRef<void(std::size_t worker)> work) const;

 private:
  struct HEADWISE_HIDDEN Threads;
  struct HEADWISE_HIDDEN Pool;
  HEADWISE_HIDDEN explicit Executor(std::shared_ptr<Threads> threads);
  HEADWISE_HIDDEN explicit Executor(std::shared_ptr<const Pool> pool);
  // Of the executor's own threads.
  HEADWISE_HIDDEN std::size_t own_threads() const;
  // run_workers() with several workers on several of its own threads.
  HEADWISE_HIDDEN void spread(std::size_t workers,
                              FunctionRef<void(std::size_t worker)> work) const;

  std::shared_ptr<Threads> threads_;  // null: the default, or a pool
  std::shared_ptr<const Pool> pool_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
