// The ranks of a group as threads of one process: for testing programs that run
// on many ranks, including their failures.
//
// A send ends when the other rank has received, at any size. So a program that
// waits forever where messages are not buffered also does so here.
//
// Example:
//   const auto ended = hw::run_ranks(4, [&](hw::Communicator& group) {
//     return group.barrier();
//   });
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// What goes wrong, from the rank's operation `at` on: its sends and receives
// count from 0, those of collective functions with them.
struct RankFault {
  enum class Kind {
    ends,         // without a word: its calls fail, and the others notice that
    hangs,        // until all others have ended
    is_slow,      // waits for `delay` before every operation
    loses_link,   // what it sends to `other` and receives from it never arrives
    sends_short,  // one byte less, or one instead of none
  };
  Kind kind = Kind::ends;
  std::size_t rank = 0;
  std::size_t at = 0;
  std::size_t other = 0;
  std::chrono::milliseconds delay{0};
};

struct ThreadRankOptions {
  std::chrono::milliseconds deadline = Communicator::kDefaultDeadline;
  std::vector<RankFault> faults{};
};

// Calls `work` on a thread for each rank and returns what each call returned,
// when all have. The error of a rank ends the waits of all others (abort()),
// and so does the end of a rank that another one waits for. An exception thrown
// by `work` reaches the caller, when all ranks have ended. Errors:
// invalid_argument for 0 ranks, out_of_range for a fault of a rank outside of
// the group, out_of_memory also if the system has no more threads.
Result<std::vector<Status>> run_ranks(std::size_t ranks,
                                      FunctionRef<Status(Communicator&)> work,
                                      const ThreadRankOptions& options = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
