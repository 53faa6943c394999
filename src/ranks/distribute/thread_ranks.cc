#include "headwise/distribute/thread_ranks.h"

#include <exception>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "distribute/thread_group.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Status check_faults(std::size_t ranks, std::span<const RankFault> faults) {
  for (const RankFault& fault : faults) {
    if (fault.rank >= ranks) {
      return value_error("run_ranks", "faults.rank", std::to_string(fault.rank),
                         message("a rank below {}", ranks),
                         ErrorCode::out_of_range);
    }
  }
  return ok();
}

struct Outcome {
  Status status;
  std::exception_ptr exception;
};

Outcome run_rank(ThreadGroup& group, std::size_t rank,
                 FunctionRef<Status(Communicator&)> work,
                 const ThreadRankOptions& options) {
  Outcome outcome;
  try {
    ThreadCommunicator communicator(group, rank, options.faults);
    communicator.set_deadline(options.deadline);
    outcome.status = work(communicator);
    if (!outcome.status) {
      communicator.abort(outcome.status.error());
    }
  } catch (...) {
    outcome.exception = std::current_exception();
  }
  group.end(rank);
  return outcome;
}

// False if the system has no more threads.
template <class Work>
bool start(std::vector<std::jthread>& threads, const Work& work) {
  try {
    threads.emplace_back(work);
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

}  // namespace

Result<std::vector<Status>> run_ranks(std::size_t ranks,
                                      FunctionRef<Status(Communicator&)> work,
                                      const ThreadRankOptions& options) try {
  HEADWISE_TRY(check_at_least_one("run_ranks", "ranks", ranks));
  HEADWISE_TRY(check_faults(ranks, options.faults));
  ThreadGroup group(ranks);
  std::vector<Outcome> outcomes(ranks);
  bool all_started = true;
  {
    std::vector<std::jthread> threads;
    threads.reserve(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      all_started = all_started && start(threads, [&, rank] {
                      outcomes[rank] = run_rank(group, rank, work, options);
                    });
      if (!all_started) {
        group.end(rank);
      }
    }
  }  // all have ended
  if (!all_started) {
    return Error(ErrorCode::out_of_memory);
  }
  std::vector<Status> statuses;
  for (Outcome& outcome : outcomes) {
    if (outcome.exception) {
      std::rethrow_exception(outcome.exception);
    }
    statuses.push_back(std::move(outcome.status));
  }
  return statuses;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
