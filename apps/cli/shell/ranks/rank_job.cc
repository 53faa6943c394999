#include "rank_job.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

namespace headwise::cli {
namespace {

struct Job {
  std::unique_ptr<Communicator> group;
  bool mpi = false;
  bool failed_together = false;
  GiveUp give_up = nullptr;
};

Job& job() {
  static Job own;
  return own;
}

// By what launchers leave in the environment of their processes: Open MPI,
// PMIx (also Slurm), and MPICH with its kin. A job of one needs no MPI, which a
// build may lack.
bool started_with_others() {
  constexpr std::array kSizes = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
  constexpr std::array kRanks = {"PMIX_RANK", "PMI_RANK"};
  for (const char* const name : kSizes) {
    if (const char* const size = std::getenv(name); size != nullptr) {
      return std::string_view(size) != "1";
    }
  }
  return std::ranges::any_of(
      kRanks, [](const char* name) { return std::getenv(name) != nullptr; });
}

}  // namespace

void set_give_up(GiveUp give_up) { job().give_up = give_up; }

Result<Communicator*> join_job(std::chrono::milliseconds deadline) {
  if (!started_with_others()) {
    job().group = Communicator::self();
    return job().group.get();
  }
  job().mpi = true;
  HEADWISE_ASSIGN(auto group, begin_mpi(deadline, job().give_up));
  job().group = std::move(group);
  // Until a library call names its own.
  job().group->set_step("", "reading files");
  return job().group.get();
}

std::optional<std::size_t> rank_in_job() {
  const Communicator* const group = job().group.get();
  return group != nullptr && group->ranks() > 1 ? std::optional(group->rank())
                                                : std::nullopt;
}

Status agreed(Communicator& group, const Status& own) {
  const Status all = of_all_ranks(group.agree(own));
  return group.rank() == 0 && !own ? own : all;
}

Outcome agreed(Communicator& group, const Outcome& own) {
  const Status all = agreed(group, own ? ok() : Status(own.error().error));
  return own && !all ? Outcome(all.error()) : own;
}

Status of_all_ranks(const Status& status) {
  // The memory of a rank is its own matter.
  job().failed_together = !status &&
                          status.error().code() != ErrorCode::rank_failure &&
                          status.error().code() != ErrorCode::out_of_memory;
  return status;
}

bool failed_together() { return job().failed_together; }

void tell_others(const Outcome& outcome) {
  // Until mpirun has ended this process. It has none to wait for where the
  // other one was killed meanwhile.
  constexpr std::chrono::seconds kLongest{5};
  Communicator* const group = job().group.get();
  if (outcome || failed_together() || group == nullptr) {
    return;
  }
  group->abort(outcome.error().error);
  if (group->was_told()) {
    std::this_thread::sleep_for(kLongest);
  }
}

void leave_job(const Outcome& outcome) {
  if (!job().mpi) {
    return;
  }
  if (outcome || failed_together()) {
    job().group.reset();
    end_mpi();
    return;
  }
  abort_mpi(static_cast<int>(outcome.error().exit));
}

}  // namespace headwise::cli
