// The ranks of one process: their links, and what each of them is doing.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "distribute/link.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/distribute/thread_ranks.h"

namespace headwise::inline HEADWISE_ABI {

// What a rank does, as far as it can be seen, and since when.
struct RankActivity {
  enum class Kind { silent, busy, waits };
  Kind kind = Kind::silent;
  std::size_t waits_for = 0;
  std::chrono::steady_clock::time_point since =
      std::chrono::steady_clock::now();
};

class ThreadGroup {
 public:
  explicit ThreadGroup(std::size_t ranks);

  std::size_t ranks() const { return ranks_; }
  Link& link(std::size_t from, std::size_t to);
  // Where what a rank sends, or waits for, meets nothing.
  Link& lost_sends(std::size_t rank);
  Link& lost_receives(std::size_t rank);

  // Ends all waits with this error; false if they were ended before.
  bool close(const Error& reason);
  // The rank sends and receives no more. Takes no memory.
  void end(std::size_t rank);
  // Returns when all others have ended or hang as well.
  void hang(std::size_t rank);

  void set_activity(std::size_t rank, const RankActivity& activity);
  Communicator::SignsOfLife signs_of(std::size_t rank);

 private:
  std::size_t ranks_;
  std::deque<Link> links_;    // [from * ranks + to], then the lost ones
  std::vector<Error> ended_;  // what is said of each rank then
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_closed_ = false;
  std::vector<bool> runs_;
  std::vector<RankActivity> activities_;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(ThreadGroup& group, std::size_t rank,
                     std::span<const RankFault> faults)
      : Communicator(rank, group.ranks()), group_(group), faults_(faults) {}

 private:
  Result<std::unique_ptr<Pending>> begin_send(std::span<const std::byte> bytes,
                                              std::size_t to) override;
  Result<std::unique_ptr<Pending>> begin_receive(std::span<std::byte> bytes,
                                                 std::size_t from) override;
  bool tell(const Error& reason) noexcept override;
  void start_waiting(std::size_t other) override;
  void stop_waiting() override;
  SignsOfLife signs_of(std::size_t other) override;
  Status work_visibly(FunctionRef<Status()> work) override;

  // What happens to an operation.
  struct Outcome {
    bool is_lost = false;
    bool is_short = false;
  };
  Result<Outcome> next_operation(std::size_t other);

  ThreadGroup& group_;
  std::span<const RankFault> faults_;
  std::size_t operation_ = 0;
  bool is_silent_ = false;
};

}  // namespace headwise::inline HEADWISE_ABI
