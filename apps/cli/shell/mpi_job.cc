#include "mpi_job.h"

#include <mpi.h>

#include "headwise/distribute/mpi.h"

namespace headwise::cli {

Result<std::unique_ptr<Communicator>> begin_mpi(
    std::chrono::milliseconds deadline) {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  return mpi_ranks(deadline);
}

void end_mpi() { MPI_Finalize(); }

void abort_mpi(int exit_code) { MPI_Abort(MPI_COMM_WORLD, exit_code); }

}  // namespace headwise::cli
