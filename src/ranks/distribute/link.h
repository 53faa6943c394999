// One direction between two ranks of one process: a send and a receive meet
// here, in their order, and the bytes are copied once, from one to the other.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"

namespace headwise::inline HEADWISE_ABI {

// It outlives its transfers.
class Link {
 public:
  explicit Link(std::size_t from) : from_(from) {}

  std::unique_ptr<Communicator::Pending> send(std::span<const std::byte> bytes);
  std::unique_ptr<Communicator::Pending> receive(std::span<std::byte> bytes);
  // Whoever waits, now or later, for what has not met the other end gets this
  // error. The first one counts.
  void close(const Error& reason);

 private:
  class Send;
  class Receive;
  class End;
  void match();

  const std::size_t from_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Send*> sends_;
  std::deque<Receive*> receives_;
  std::optional<Error> closed_;
};

}  // namespace headwise::inline HEADWISE_ABI
