// How the ranks of a group talk to one another: processes on one or many
// machines (distribute/mpi.h), threads of one process
// (distribute/thread_ranks.h), or a single rank.
//
// Every rank calls the same functions in the same order. Bytes between two ranks
// arrive in the order in which they were sent; nothing is ever added up on the
// way, so no result depends on who was faster. All ranks run on machines with
// the same byte order.
//
// A rank waits for another at most until the deadline. After any error a group
// is of no more use: abort() tells the others, and whoever then waits ends with
// an error, too.
//
// Errors of every function: rank_failure for a rank that failed, ended or did
// not answer within the deadline. The message names that rank, the operation
// and the step (set_step()):
//
//   attention: rank 2 did not answer within 60 s, at keys 768 to 1151
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class Communicator {
 public:
  static constexpr std::chrono::milliseconds kDefaultDeadline{60'000};

  // A group of one.
  static std::unique_ptr<Communicator> self();

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator();

  std::size_t rank() const { return rank_; }
  std::size_t ranks() const { return ranks_; }

  // The longest wait for another rank.
  std::chrono::milliseconds deadline() const { return deadline_; }
  void set_deadline(std::chrono::milliseconds deadline) {
    deadline_ = deadline;
  }
  // What messages say is being done: "attention" and "keys 0 to 383".
  void set_step(std::string_view operation, std::string_view step);

  // A send or a receive that was started. finish() ends it; until then its
  // bytes belong to the communicator.
  class Transfer {
   public:
    Transfer() = default;

   private:
    friend class Communicator;
    explicit Transfer(std::size_t number) : number_(number) {}
    std::size_t number_ = 0;  // 0: none, which finish() takes as done
  };
  Result<Transfer> start_send(std::span<const std::byte> bytes, std::size_t to);
  // As many bytes as the other rank sends. Errors: also shape_mismatch for
  // another number.
  Result<Transfer> start_receive(std::span<std::byte> bytes, std::size_t from);
  Status finish(Transfer& transfer);

  Status send(std::span<const std::byte> bytes, std::size_t to);
  Status receive(std::span<std::byte> bytes, std::size_t from);

  // Returns when every rank has come here.
  Status barrier();
  // All get the bytes of rank `from`, which are as many on every rank.
  Status broadcast(std::span<std::byte> bytes, std::size_t from);
  // Rank `to` gets the bytes of rank r into parts[r]; the others pass no parts.
  Status gather(std::span<const std::byte> own,
                std::span<const std::span<std::byte>> parts, std::size_t to);
  // Sends out[r] to rank r and receives in[r] from it.
  Status exchange(std::span<const std::span<const std::byte>> out,
                  std::span<const std::span<std::byte>> in);

  // Errors: invalid_argument, on every rank, if the ranks were given different
  // texts; it names `what`, the first rank that differs from rank 0, and both.
  Status check_same(std::string_view what, std::string_view text);
  // The error of the lowest rank that failed, on every rank; its message names
  // that rank. So no rank goes on alone after one of them has found a mistake.
  Status agree(const Status& own);

  // Whoever waits for this rank, now or later, gets an error with the message.
  void abort(const Error& reason) noexcept;

 protected:
  Communicator(std::size_t rank, std::size_t ranks)
      : rank_(rank), ranks_(ranks) {}

 private:
  std::size_t rank_;
  std::size_t ranks_;
  std::chrono::milliseconds deadline_ = kDefaultDeadline;
  std::string operation_;
  std::string step_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
