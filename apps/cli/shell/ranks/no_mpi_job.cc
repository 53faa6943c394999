// A command that was built without MPI.
#include "mpi_job.h"

namespace headwise::cli {

Result<std::unique_ptr<Communicator>> begin_mpi(std::chrono::milliseconds,
                                                GiveUp) {
  return Error(ErrorCode::unsupported,
               {.given = "this headwise was built without MPI, so several "
                         "processes cannot run it together",
                .hint = "build it with -DHEADWISE_MPI=ON"});
}

void end_mpi() {}

void abort_mpi(int) {}

}  // namespace headwise::cli
