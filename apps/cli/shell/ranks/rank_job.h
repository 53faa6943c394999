// The processes that run one command together, started by mpirun. Only commands
// that divide their work join the job, so all others start as fast as ever.
//
// All processes get the same options and read the same files. Rank 0 writes the
// results and says what all agree on; another rank speaks up only for a failure
// of its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "mpi_job.h"
#include "shell/outcome.h"

namespace headwise::cli {

// What to do if the processes do not begin or end together; main() says it.
void set_give_up(GiveUp give_up);

// Joins the job that this process was started in; a process that was started
// alone is a group of one. Called once; the group lives until leave_job().
// Errors: those of begin_mpi().
Result<Communicator*> join_job(std::chrono::milliseconds deadline);

// The rank, in a job of several processes.
std::optional<std::size_t> rank_in_job();

// The error of the lowest rank that has one, so that no rank continues alone
// after another found a mistake. After an error the command ends, and only rank
// 0 reports it.
Status agreed(Communicator& group, const Status& own);
Outcome agreed(Communicator& group, const Outcome& own);
// Records the status of a library call that all ranks make together. Every rank
// has the same error, such as a mask that does not fit, unless it is a
// rank_failure.
Status of_all_ranks(const Status& status);
// The same of the error of a result.
template <class T>
Status agreed(Communicator& group, const Result<T>& own) {
  return agreed(group, own ? ok() : Status(own.error()));
}
template <class T>
Status of_all_ranks(const Result<T>& result) {
  return of_all_ranks(result ? ok() : Status(result.error()));
}
// Whether the command ends because of such an error.
bool failed_together();

// If this process fails alone, tells the others, who may be waiting for it. If
// another one has failed before, waits for it: that process reports its error
// and ends the job.
void tell_others(const Outcome& outcome);
// Ends what join_job() began, where it was called. If only this process failed,
// it aborts the job.
void leave_job(const Outcome& outcome);

}  // namespace headwise::cli
