#include "parallel_flags.h"

#include "shell/ranks/deadline.h"

namespace headwise::cli {

std::chrono::milliseconds ParallelFlags::longest_wait() const {
  return cli::longest_wait(deadline);
}

std::vector<OptionRow> parallel_options(ParallelFlags& flags) {
  return {{"--parallel", &flags.scheme, choice({"context", "heads", "auto"}),
           "under mpirun: divide the call among the processes by tokens "
           "(context), by heads, or as headwise plan would (auto); the "
           "files are those of one process",
           advanced()},
          {"--deadline", &flags.deadline, count(),
           "with --parallel: seconds that a process may stay silent before "
           "the job ends; one that computes, or reads or writes files, is "
           "not silent (default 600)",
           advanced()}};
}

}  // namespace headwise::cli
