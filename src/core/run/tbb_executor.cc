// The executor of every build but the thread sanitizer's: oneTBB.
#include <pthread.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <stdexcept>

#include "base/out_of_memory.h"
#include "run/executor.h"
#include "run/float_environment.h"

namespace headwise::inline HEADWISE_ABI {

namespace {

// oneTBB does not know of forks: its threads stay behind, and whatever lock one
// of them held is never opened in the child. So where a process forks after its
// first use, the child works in the threads that call.
std::atomic<bool> was_used = false;
std::atomic<bool> left_behind = false;
const int watch_forks =
    pthread_atfork(nullptr, nullptr, [] { left_behind = was_used.load(); });

std::size_t threads_of_process() {
  return tbb::global_control::active_value(
      tbb::global_control::max_allowed_parallelism);
}

void* wait_at(void* gate) {
  const std::lock_guard through(*static_cast<std::mutex*>(gate));
  return nullptr;
}

// Whether the process may have this number of further threads. Where it may
// not, oneTBB throws, in its own threads past every handler.
bool can_create(std::size_t wanted) {
  std::array<pthread_t, 256> made;
  wanted = std::min(wanted, made.size());
  std::size_t count = 0;
  {
    std::mutex gate;
    std::unique_lock closed(gate);
    while (count < wanted &&
           pthread_create(&made[count], nullptr, wait_at, &gate) == 0) {
      ++count;
    }
    closed.unlock();
    for (std::size_t n = 0; n < count; ++n) {
      pthread_join(made[n], nullptr);
    }
  }
  return count == wanted;
}

bool may_use_threads() {
  if (left_behind) {
    return false;
  }
  static const bool enough = can_create(threads_of_process() - 1);
  if (!was_used && enough) {
    was_used = true;
  }
  return enough;
}

}  // namespace

// The default executor has none, but the caller's arena.
struct Executor::Threads {
  std::size_t count = 0;
  tbb::task_arena arena{};
};

Result<Executor> Executor::with_threads(std::size_t threads) try {
  HEADWISE_TRY(check_threads(threads));
  auto state = std::make_shared<Threads>();
  if (threads == 1 || !may_use_threads()) {
    state->count = 1;
    return Executor(std::move(state));
  }
  // More than oneTBB has would only make it print a warning.
  state->count = std::min(threads, threads_of_process());
  state->arena.initialize(static_cast<int>(state->count));
  return Executor(std::move(state));
} catch (...) {
  return caught_out_of_memory();
}

std::size_t Executor::own_threads() const {
  if ((threads_ && threads_->count == 1) || !may_use_threads()) {
    return 1;
  }
  return threads_ ? threads_->count
                  : static_cast<std::size_t>(
                        tbb::this_task_arena::max_concurrency());
}

// A thread that waits for the loop takes no other work of the caller's arena
// up: that would run in the middle of ours.
void Executor::spread(std::size_t workers,
                      FunctionRef<void(std::size_t)> work) const {
  const RaisedFlags raised;
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> work_threw = false;
  const auto one = [&](std::size_t) {
    try {
      work(next++);
    } catch (...) {
      work_threw = true;
      throw;
    }
  };
  const auto loop = [&] {
    tbb::this_task_arena::isolate([&] {
      tbb::parallel_for(std::size_t{0}, workers, one,
                        tbb::static_partitioner());
    });
  };
  try {
    if (threads_) {
      threads_->arena.execute(loop);
    } else {
      loop();
    }
  } catch (const std::runtime_error&) {
    if (work_threw) {
      throw;
    }
    // oneTBB could not create a thread: what is left is done in this one.
    left_behind = true;
    while (next < workers) {
      work(next++);
    }
  }
}

}  // namespace headwise::inline HEADWISE_ABI
