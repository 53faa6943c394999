#include "distribute/mpi_worker.h"

#include <system_error>
#include <utility>

namespace headwise::inline HEADWISE_ABI {

MpiWorker::~MpiWorker() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
}

void MpiWorker::run(FunctionRef<void()> work,
                    FunctionRef<std::chrono::microseconds()> meanwhile) {
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { serve(); });
    } catch (const std::system_error&) {
      work();
      return;
    }
  }
  std::unique_lock lock(mutex_);
  work_ = &work;
  changed_.notify_all();
  const auto is_done = [this] { return work_ == nullptr; };
  while (!is_done()) {
    lock.unlock();
    std::chrono::microseconds pause{};
    try {
      pause = meanwhile();
    } catch (...) {
      lock.lock();
      changed_.wait(lock, is_done);
      thrown_ = nullptr;
      throw;
    }
    lock.lock();
    changed_.wait_for(lock, pause, is_done);
  }
  if (thrown_) {
    std::rethrow_exception(std::exchange(thrown_, nullptr));
  }
}

void MpiWorker::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || work_ != nullptr; });
    if (ends_) {
      return;
    }
    const FunctionRef<void()>& work = *work_;
    lock.unlock();
    std::exception_ptr thrown;
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    thrown_ = std::move(thrown);
    work_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace headwise::inline HEADWISE_ABI
