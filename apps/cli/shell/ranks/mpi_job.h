// MPI as the command uses it: begun late, by commands that several processes
// run together, and ended by main(). In a build without MPI begin_mpi() fails.
#pragma once

#include <chrono>
#include <memory>

#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"

namespace headwise::cli {

// MPI begins and ends when all processes do, and has no deadline for that. If a
// process is late, this function is called on another thread and ends the
// calling process.
using GiveUp = void (*)(const Error& error);

// The processes of the job, which all call this. Errors: those of mpi_ranks();
// unsupported in a build without MPI.
Result<std::unique_ptr<Communicator>> begin_mpi(
    std::chrono::milliseconds deadline, GiveUp give_up);
// After begin_mpi(), when its group is gone. end_mpi() waits for all processes;
// abort_mpi() ends them.
void end_mpi();
void abort_mpi(int exit_code);

}  // namespace headwise::cli
