// Ranks that are the processes of an MPI job. This header belongs to a separate
// library, headwise::mpi, so that nothing else needs MPI. Built with
// HEADWISE_MPI=OFF, its functions return `unsupported`.
//
// The caller initialises MPI, for MPI_THREAD_FUNNELED or more, and finalises it
// after the group is gone. A group is used on the thread that initialised MPI.
// After a failure a process ends by MPI_Abort(): MPI_Finalize() waits for all
// processes, the failed one among them.
//
// Example:
//   int provided = 0;
//   MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
//   auto group = hw::mpi_ranks().value();
//   const hw::Status status = work(*group);
//   if (!status) {
//     group->abort(status.error());
//     MPI_Abort(MPI_COMM_WORLD, 1);
//   }
//   group.reset();
//   MPI_Finalize();
#pragma once

#include <chrono>
#include <memory>

#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// A group of all processes, those of MPI_COMM_WORLD. All processes must call
// this, and all must destroy the group. The group talks over a duplicate of the
// communicator, apart from whatever the caller sends.
//
// A transfer goes through buffers of the group, 2 MiB at most for each. So the
// memory of the caller is free again as soon as a call has failed, and any size
// can be sent.
//
// Errors: unsupported without MPI, or if it provides less than
// MPI_THREAD_FUNNELED; invalid_argument if MPI is not initialised or is
// finalised already; invalid_argument if the processes have different versions
// of headwise; rank_failure if a process does not call this within the
// deadline, which is then the group's.
Result<std::unique_ptr<Communicator>> mpi_ranks(
    std::chrono::milliseconds deadline = Communicator::kDefaultDeadline);
// A group of the processes of a communicator, given as
// MPI_Comm_c2f(communicator) so that this header needs no mpi.h. Errors: also
// invalid_argument for MPI_COMM_NULL.
Result<std::unique_ptr<Communicator>> mpi_ranks(
    int communicator,
    std::chrono::milliseconds deadline = Communicator::kDefaultDeadline);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
