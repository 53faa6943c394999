#include "base/out_of_memory.h"
#include "headwise/distribute/mpi.h"

namespace headwise::inline HEADWISE_ABI {

Result<std::unique_ptr<Communicator>> mpi_ranks(
    std::chrono::milliseconds /*deadline*/) try {
  return Error(ErrorCode::unsupported,
               {.operation = "mpi_ranks",
                .given = "headwise was built without MPI",
                .expected = "a build with -DHEADWISE_MPI=ON"});
} catch (...) {
  return caught_out_of_memory();
}

Result<std::unique_ptr<Communicator>> mpi_ranks(
    int /*communicator*/, std::chrono::milliseconds deadline) {
  return mpi_ranks(deadline);
}

}  // namespace headwise::inline HEADWISE_ABI
