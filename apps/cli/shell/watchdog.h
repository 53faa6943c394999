// Watches a call that may never return, such as MPI_Init(), which waits for all
// processes and cannot be given up.
//
// Example:
//   const Watchdog watchdog(deadline, [] { std::_Exit(1); });
//   MPI_Finalize();
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace headwise::cli {

class Watchdog {
 public:
  // Calls `late`, on a thread of its own, unless this object is gone before the
  // deadline.
  Watchdog(std::chrono::milliseconds deadline, std::function<void()> late);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch(std::chrono::milliseconds deadline);

  std::function<void()> late_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace headwise::cli
