#include "shell/ranks/mpi_job.h"

#include <mpi.h>

#include <algorithm>
#include <future>
#include <string>
#include <thread>

#include "headwise/distribute/mpi.h"

namespace headwise::cli {
namespace {

Error late(const char* function, std::chrono::milliseconds deadline) {
  return {ErrorCode::rank_failure,
          {.operation = function,
           .given = message("a rank did not answer within {} ms",
                            deadline.count())}};
}

// As begin_mpi() was told, for MPI_Finalize().
std::chrono::milliseconds longest_mpi_wait = Communicator::kDefaultDeadline;
GiveUp give_up_mpi = nullptr;

// Calls a function of MPI that waits for all processes. It cannot be given up,
// so another thread watches it.
template <class Call>
void call_in_time(const char* function, const Call& call) {
  std::promise<void> ended;
  std::thread watch([function, done = ended.get_future()] {
    if (done.wait_for(longest_mpi_wait) == std::future_status::timeout) {
      give_up_mpi(late(function, longest_mpi_wait));
    }
  });
  call();
  ended.set_value();
  watch.join();
}

}  // namespace

Result<std::unique_ptr<Communicator>> begin_mpi(
    std::chrono::milliseconds deadline, GiveUp give_up) {
  longest_mpi_wait = std::min(deadline, Communicator::kLongestDeadline);
  give_up_mpi = give_up;
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
