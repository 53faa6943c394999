// How the ranks of a group talk to one another: processes on one or many
// machines (distribute/mpi.h), threads of one process
// (distribute/thread_ranks.h), or a single rank.
//
// Every rank calls the same functions in the same order. Bytes between two
// ranks arrive in the order in which they were sent; nothing is ever added up
// on the way, so no result depends on who was faster. All ranks run on machines
// with the same byte order. A rank uses its communicator on one thread.
//
// A rank that waits asks the one it waits for whether it is alive. A rank
// answers while it waits itself, and while it does long work within
// busy_with(); all other work is silent. Its partners end the wait
//
// - when it has not answered for the deadline, or
// - when it answers, but it and all ranks that it waits for have made no
//   progress for one and a half deadlines: they wait for each other.
//
// So any chain of ranks can wait for a rank that computes for hours. If a rank
// was stopped, the rank that waits for it names it. The first failure that a
// rank notices ends the group: all ranks are told, every wait ends, and every
// later call fails. A rank that fails by itself calls abort().
//
// Errors of every function: rank_failure for a rank that failed, ended or did
// not answer within the deadline. The message names that rank, the operation
// and the step (set_step()):
//
//   attention: rank 2 did not answer within 60 s; at keys 768 to 1151
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class Communicator {
 public:
  static constexpr std::chrono::milliseconds kDefaultDeadline{60'000};
  // A longer deadline is cut to this one.
  static constexpr std::chrono::milliseconds kLongestDeadline =
      std::chrono::hours(24 * 365);

  // A group of one.
  static std::unique_ptr<Communicator> self();

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator();

  std::size_t rank() const { return rank_; }
  std::size_t ranks() const { return ranks_; }

  // The longest silence of a rank that another one waits for.
  std::chrono::milliseconds deadline() const { return deadline_; }
  void set_deadline(std::chrono::milliseconds deadline) {
    deadline_ = std::min(deadline, kLongestDeadline);
  }
  // What messages say is being done: "attention" and "keys 0 to 383".
  void set_step(std::string_view operation, Message step);

  // A send or a receive that was started. finish() ends it; until then, or
  // until any function returns a rank_failure, its bytes belong to the
  // communicator.
  class Transfer {
   public:
    Transfer() = default;

   private:
    friend class Communicator;
    explicit Transfer(std::size_t number) : number_(number) {}
    std::size_t number_ = 0;  // 0: none, which finish() takes as done
  };
  // May wait for the other rank to receive, but only in finish(). Errors:
  // out_of_range for a rank outside of the group.
  Result<Transfer> start_send(std::span<const std::byte> bytes, std::size_t to);
  // As many bytes as the other rank sends. Errors: also shape_mismatch, here or
  // in finish(), for another number.
  Result<Transfer> start_receive(std::span<std::byte> bytes, std::size_t from);
  // Errors: also invalid_argument for a copy of a transfer that was finished.
  Status finish(Transfer& transfer);

  // Does work that takes long, such as computing or writing a file. Meanwhile
  // transfers advance, and ranks that wait for this one learn that it is alive.
  // `work` must not use the group; it may run on another thread. Returns what
  // it returns; an exception thrown by it reaches the caller.
  Status busy_with(FunctionRef<Status()> work);

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
  // An error of agree() or check_same() ends the group: nobody has to be told.
  Status agree(const Status& own);

  // Whoever waits for a rank of the group, now or later, gets a rank_failure
  // with this message. Does nothing if the group has ended already.
  void abort(const Error& reason) noexcept;
  // Whether the group failed and another rank told this one about it. That rank
  // reports the failure.
  bool was_told() const { return was_told_; }

  // ---- For back ends. ----
  // A transfer on its way. Its destructor gives it up: from then on nobody
  // touches its bytes.
  class Pending {
   public:
    Pending() = default;
    Pending(const Pending&) = delete;
    Pending& operator=(const Pending&) = delete;
    virtual ~Pending();
    // Waits until the transfer has ended, or until a time, and says whether it
    // has ended. Errors name the other rank.
    virtual Result<bool> wait(std::chrono::steady_clock::time_point until) = 0;
  };
  // What is known of another rank.
  struct SignsOfLife {
    using Time = std::chrono::steady_clock::time_point;
    Time answered;  // the last answer
    Time moved;     // the last progress of it or of a rank that it waits for
  };

 protected:
  Communicator(std::size_t rank, std::size_t ranks);

 private:
  // To or from another rank. This class destroys the transfers, after the
  // destructor of the back end.
  virtual Result<std::unique_ptr<Pending>> begin_send(
      std::span<const std::byte> bytes, std::size_t to) = 0;
  virtual Result<std::unique_ptr<Pending>> begin_receive(
      std::span<std::byte> bytes, std::size_t from) = 0;
  // Ends the waits of all other ranks with this error. If another rank has told
  // this one about a failure before, does nothing and returns false.
  virtual bool tell(const Error& reason) noexcept = 0;
  // This rank begins to wait for another, until it stops waiting.
  virtual void start_waiting(std::size_t other) = 0;
  virtual void stop_waiting() = 0;
  // Of a rank that this one waits for. What is known may be older than the
  // wait.
  virtual SignsOfLife signs_of(std::size_t other) = 0;
  virtual Status work_visibly(FunctionRef<Status()> work) = 0;

  struct HEADWISE_HIDDEN State;
  HEADWISE_HIDDEN Status check_rank(std::string_view operation,
                                    std::string_view argument,
                                    std::size_t rank) const;
  HEADWISE_HIDDEN Result<Transfer> start(
      Result<std::unique_ptr<Pending>> pending, std::size_t other);
  HEADWISE_HIDDEN Status wait(Pending& pending, std::size_t other);
  HEADWISE_HIDDEN Status send_text(std::string_view text, std::size_t to);
  HEADWISE_HIDDEN Result<std::string> receive_text(std::size_t from);
  // Rank 0 joins the texts of all ranks into one, which every rank gets.
  HEADWISE_HIDDEN Result<std::string> decide(
      std::string_view own,
      FunctionRef<std::string(std::span<const std::string>)> decision);
  // The status that was decided; an error ends the group.
  HEADWISE_HIDDEN Status conclude(const Result<std::string>& decided);
  // Ends the group, if it has not ended, with what the others are told.
  HEADWISE_HIDDEN void end(const Error& own, const Error& told) noexcept;
  HEADWISE_HIDDEN Error fail(const Error& error) noexcept;
  // Returns the result of `work`. If it fails while a transfer may still be on
  // its way, the group ends, because the caller may free the transfer's bytes.
  HEADWISE_HIDDEN Status together(FunctionRef<Status()> work);

  std::size_t rank_;
  std::size_t ranks_;
  bool was_told_ = false;
  std::chrono::milliseconds deadline_ = kDefaultDeadline;
  std::unique_ptr<State> state_;
};

// Gives every rank a text that one rank has.
//
// Errors: rank_failure; out_of_memory.

// All ranks call it; `text` is that of rank `from`, the others' is not read.
Result<std::string> share_text(Communicator& group, std::string text,
                               std::size_t from);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
