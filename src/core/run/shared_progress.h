// Adds up what threads have done, and tells a Progress.
#pragma once

#include <cstddef>
#include <mutex>

#include "headwise/run/reports.h"

namespace headwise::inline HEADWISE_ABI {

// Tells it 0 at once. The progress must outlive this object.
class SharedProgress {
 public:
  SharedProgress(const Progress& progress, std::size_t total)
      : progress_(progress), total_(total) {
    add(0);
  }

  void add(std::size_t count) {
    if (progress_) {
      const std::scoped_lock lock(mutex_);
      done_ += count;
      progress_(done_, total_);
    }
  }

 private:
  const Progress& progress_;
  std::size_t total_;
  std::size_t done_ = 0;
  std::mutex mutex_;
};

}  // namespace headwise::inline HEADWISE_ABI
