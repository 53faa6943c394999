// Work without the interpreter lock.
#pragma once

#include <nanobind/nanobind.h>

#include <mutex>

namespace headwise::python {

// `call` must not touch Python.
template <class Call>
auto unlocked(Call&& call) {
  const nanobind::gil_scoped_release released;
  return call();
}

// For objects that only one thread may use at a time: calls wait for each
// other.
class OneAtATime {
 public:
  // `call` must not touch Python.
  template <class Call>
  auto run(Call&& call) {
    const nanobind::gil_scoped_release released;
    const std::scoped_lock lock(mutex_);
    return call();
  }

 private:
  std::mutex mutex_;
};

}  // namespace headwise::python
