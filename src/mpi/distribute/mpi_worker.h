// A thread for long work, while the thread that may call MPI calls it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "headwise/base/function_ref.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

class MpiWorker {
 public:
  MpiWorker() = default;
  MpiWorker(const MpiWorker&) = delete;
  MpiWorker& operator=(const MpiWorker&) = delete;
  ~MpiWorker();

  // Does the work and returns when it is done. Until then calls meanwhile() on
  // the caller's thread, each time after the pause that it returned. An
  // exception of either reaches the caller, once the work is done. If the
  // system has no more threads, it only does the work.
  void run(FunctionRef<void()> work,
           FunctionRef<std::chrono::microseconds()> meanwhile);

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  const FunctionRef<void()>* work_ = nullptr;  // none: it is done
  std::exception_ptr thrown_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace headwise::inline HEADWISE_ABI
