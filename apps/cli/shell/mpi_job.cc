#include "mpi_job.h"

#include <mpi.h>

#include <algorithm>

#include "headwise/distribute/mpi.h"
#include "watchdog.h"

namespace headwise::cli {
namespace {

Error late(const char* function, std::chrono::milliseconds deadline) {
  return {ErrorCode::rank_failure,
          {.operation = function,
           .given = "a rank did not answer within " +
                    std::to_string(deadline.count()) + " ms"}};
}

// Of MPI_Finalize(): how long begin_mpi() was told to wait.
std::chrono::milliseconds& longest_wait() {
  static std::chrono::milliseconds deadline = Communicator::kDefaultDeadline;
  return deadline;
}

GiveUp& give_up() {
  static GiveUp function = nullptr;
  return function;
}

// Calls a function of MPI that waits for all processes.
template <class Call>
void call_in_time(const char* function, const Call& call) {
  const Watchdog watchdog(longest_wait(), [function] {
    give_up()(late(function, longest_wait()));
  });
  call();
}

}  // namespace

Result<std::unique_ptr<Communicator>> begin_mpi(
    std::chrono::milliseconds deadline, GiveUp give_up_with) {
  longest_wait() = std::min(deadline, Communicator::kLongestDeadline);
  give_up() = give_up_with;
  int provided = 0;
  call_in_time("MPI_Init", [&] {
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  });
  return mpi_ranks(deadline);
}

void end_mpi() {
  call_in_time("MPI_Finalize", [] { MPI_Finalize(); });
}

void abort_mpi(int exit_code) { MPI_Abort(MPI_COMM_WORLD, exit_code); }

}  // namespace headwise::cli
