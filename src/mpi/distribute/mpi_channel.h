// A duplicated communicator of MPI: the transfers that are on their way over
// it, the signs of life, and the alarm, by which any rank ends the waits of all
// others.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "distribute/mpi_inbox.h"
#include "distribute/mpi_signs.h"
#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

class MpiTransfer;

class MpiChannel {
 public:
  // Owns the communicator.
  explicit MpiChannel(MPI_Comm communicator);
  MpiChannel(const MpiChannel&) = delete;
  MpiChannel& operator=(const MpiChannel&) = delete;
  ~MpiChannel();

  MPI_Comm communicator() const { return communicator_; }
  std::size_t rank() const { return rank_; }
  std::size_t ranks() const { return sent_.size(); }

  // The tag of the next transfer to or from a rank; both sides count alike.
  int next_send_tag(std::size_t to);
  int next_receive_tag(std::size_t from);

  void add(MpiTransfer& transfer) { transfers_.push_back(&transfer); }
  void remove(MpiTransfer& transfer) { std::erase(transfers_, &transfer); }
  // Pieces of transfers that are on their way, but the first of each.
  std::size_t pieces() const { return pieces_; }
  void add_pieces(std::size_t count) { pieces_ += count; }
  void remove_pieces(std::size_t count) { pieces_ -= count; }
  MpiSigns& signs() { return signs_; }
  // Whether the transfer has ended. Meanwhile moves on all others, too: another
  // rank may wait for them first.
  Result<bool> wait(const MpiTransfer& transfer,
                    std::chrono::steady_clock::time_point until);
  // Moves on all transfers and answers other ranks. Says how long to wait
  // before the next call, so that bytes flow and a core is left to those who
  // compute.
  std::chrono::microseconds advance();

  // Sounds the alarm; false if it was heard before.
  bool tell(const Error& reason) noexcept;

 private:
  void test_alarm();
  void send_alarm(const Error& reason);
  void send_empty_alarm() noexcept;

  MPI_Comm communicator_;
  std::size_t rank_ = 0;
  std::size_t pieces_ = 0;
  std::vector<std::size_t> sent_;      // transfers to each rank
  std::vector<std::size_t> received_;  // from each rank
  std::vector<MpiTransfer*> transfers_;
  MpiInbox alarm_;
  MpiSigns signs_;
  std::optional<Error> told_;
  bool has_failed_ = false;
};

}  // namespace headwise::inline HEADWISE_ABI
