#include "watchdog.h"

#include <utility>

namespace headwise::cli {

Watchdog::Watchdog(std::chrono::milliseconds deadline,
                   std::function<void()> late)
    : late_(std::move(late)), thread_([this, deadline] { watch(deadline); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Watchdog::watch(std::chrono::milliseconds deadline) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, deadline, [this] { return ended_; })) {
    late_();
  }
}

}  // namespace headwise::cli
