#include "same_file.h"

#include <fmt/format.h>

#include "rank_job.h"

namespace headwise::cli {

Outcome check_same_file(Communicator& group, std::string_view option,
                        const std::string& sha256) {
  const Status same = of_all_ranks(
      group.check_same(fmt::format("SHA-256 of {}", option), sha256));
  if (same || same.error().code() != ErrorCode::invalid_argument) {
    return same ? Outcome() : Outcome(same.error());
  }
  // The option is right, the file is not.
  return Failure{Exit::bad_input, same.error()};
}

}  // namespace headwise::cli
