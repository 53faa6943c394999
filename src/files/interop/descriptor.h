// A file descriptor that is closed when it is left.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// What a system call gives, asked again where a signal interrupted it.
template <class Call>
int retried(const Call& call) {
  int got = call();
  while (got < 0 && errno == EINTR) {
    got = call();
  }
  return got;
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}  // -1: none
  Descriptor(Descriptor&& other) noexcept
      : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    close();
    number_ = std::exchange(other.number_, -1);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  int number() const { return number_; }
  // 0, or the errno of what had not reached the file yet.
  int close() {
    const int number = std::exchange(number_, -1);
    return number < 0 || ::close(number) == 0 || errno == EINTR ? 0 : errno;
  }

 private:
  int number_;
};

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
