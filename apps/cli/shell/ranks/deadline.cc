#include "deadline.h"

#include <algorithm>

#include "headwise/distribute/communicator.h"
#include "shell/args.h"

namespace headwise::cli {

std::chrono::milliseconds longest_wait(std::optional<std::size_t> deadline) {
  constexpr std::size_t kDefault = 600;
  constexpr std::chrono::seconds kMost =
      std::chrono::duration_cast<std::chrono::seconds>(
          Communicator::kLongestDeadline);
  const auto most = static_cast<std::size_t>(kMost.count());
  return std::chrono::seconds(std::min(deadline.value_or(kDefault), most));
}

OptionRow deadline_option(std::optional<std::size_t>& deadline) {
  return {"--deadline", &deadline, count(),
          "under mpirun: seconds that a process may stay silent before the job "
          "ends; one that works is not silent (default 600)",
          advanced()};
}

}  // namespace headwise::cli
