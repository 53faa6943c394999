// A rank of a group that counts the bytes that it receives from others.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "headwise/distribute/communicator.h"

namespace headwise::testing_support {

class CountingRank final : public Communicator {
 public:
  // `group` outlives it.
  explicit CountingRank(Communicator& group)
      : Communicator(group.rank(), group.ranks()), group_(group) {}

  std::size_t received() const { return received_; }

 private:
  class Passed final : public Pending {
   public:
    Passed(Communicator& group, const Transfer& transfer)
        : group_(group), transfer_(transfer) {}
    Result<bool> wait(
        std::chrono::steady_clock::time_point /*until*/) override {
      HEADWISE_TRY(group_.finish(transfer_));
      return true;
    }

   private:
    Communicator& group_;
    Transfer transfer_;
  };

  Result<std::unique_ptr<Pending>> passed(const Result<Transfer>& started) {
    HEADWISE_TRY(started);
    return std::unique_ptr<Pending>(std::make_unique<Passed>(group_, *started));
  }
  Result<std::unique_ptr<Pending>> begin_send(std::span<const std::byte> bytes,
                                              std::size_t to) override {
    return passed(group_.start_send(bytes, to));
  }
  Result<std::unique_ptr<Pending>> begin_receive(std::span<std::byte> bytes,
                                                 std::size_t from) override {
    received_ += from == rank() ? 0 : bytes.size();
    return passed(group_.start_receive(bytes, from));
  }
  bool tell(const Error& reason) noexcept override {
    group_.abort(reason);
    return true;
  }
  // The group itself waits.
  void start_waiting(std::size_t /*other*/) override {}
  void stop_waiting() override {}
  SignsOfLife signs_of(std::size_t /*other*/) override {
    const auto now = std::chrono::steady_clock::now();
    return {now, now};
  }
  Status work_visibly(FunctionRef<Status()> work) override {
    return group_.busy_with(work);
  }

  Communicator& group_;
  std::size_t received_ = 0;
};

}  // namespace headwise::testing_support
