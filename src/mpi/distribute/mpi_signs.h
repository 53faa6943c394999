// Signs of life between the processes of a group. A rank that waits asks the
// one it waits for. That one answers with the newest move it knows of, its own
// or that of a rank that it waits for, and once more when it learns of a newer
// one. So a move at the end of a chain of waiting ranks passes through it at
// once, and ranks that wait for each other in a circle hear of none.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

#include "distribute/mpi_inbox.h"
#include "distribute/mpi_piece.h"
#include "headwise/distribute/communicator.h"

namespace headwise::inline HEADWISE_ABI {

class MpiSigns {
 public:
  MpiSigns(MPI_Comm communicator, int tag, std::size_t rank, std::size_t ranks);

  void start_waiting(std::size_t other);
  void stop_waiting();
  // Whether it does long work.
  void set_busy(bool is_busy);
  // Bytes of this rank and another have got on.
  void moved_with(std::size_t other);

  // Asks the rank that this one waits for, unless it owes an answer.
  void ask();
  // Takes what has come, and answers.
  void poll();
  Communicator::SignsOfLife of(std::size_t other) const;
  void close(bool has_failed);

 private:
  using Time = std::chrono::steady_clock::time_point;
  // A rank got on with its work at a time of its own clock.
  struct Move {
    std::uint64_t rank;
    std::uint64_t at;
    bool operator==(const Move&) const = default;
  };
  struct Message {
    std::uint64_t asks;
    Move newest;
  };
  struct Other {
    Time answered{};
    std::uint64_t moved_at = 0;  // by its own clock
    bool owes_answer = false;    // to this rank
    bool wants_next = false;     // hears of the next move
  };

  void move();
  void take(std::size_t from, const Message& message);
  // A sign that is lost for lack of memory is asked for again.
  bool send(std::size_t to, bool asks);

  MPI_Comm communicator_;
  int tag_;
  std::size_t rank_;
  std::vector<Other> others_;
  std::size_t waits_for_;  // itself: for nobody
  bool is_busy_ = false;
  Move newest_{};
  Time moved_{};                      // when it was heard of
  std::vector<std::size_t> to_tell_;  // the ranks that want the next move
  MpiInbox inbox_;
  std::list<MpiPiece> sent_;  // on their way
};

}  // namespace headwise::inline HEADWISE_ABI
