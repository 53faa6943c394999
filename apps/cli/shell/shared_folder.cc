#include "shared_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>

#include "headwise/distribute/share_text.h"
#include "headwise/interop/atomic_file.h"
#include "headwise/interop/paths.h"
#include "outcome.h"
#include "rank_job.h"

namespace headwise::cli {
namespace {

// Named like the files that a killed process leaves behind, which are removed.
std::string new_name() {
  std::random_device number;
  return fmt::format(".headwise-{}{}", number(), number());
}

Status make(std::string_view option, const std::string& folder,
            const std::string& file) {
  constexpr mode_t kAsTheUmaskSays = 0777;
  if (::mkdir(folder.c_str(), kAsTheUmaskSays) != 0 && errno != EEXIST) {
    return system_error({.argument = fmt::format("{} {}", option, folder)},
                        errno);
  }
  return write_file_atomically(file, std::string_view());
}

Status see(std::string_view option, const std::string& folder,
           const std::string& file) {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0
             ? ok()
             : option_error(
                   option,
                   fmt::format("has its parts in {}, where this process does "
                               "not see the files of rank 0",
                               folder),
                   "a folder that all processes share", ErrorCode::io_error);
}

}  // namespace

Status share_folder(Communicator& group, std::string_view option,
                    const std::string& folder) {
  const bool first = group.rank() == 0;
  const auto name = share_text(group, first ? new_name() : "", 0);
  HEADWISE_TRY(name);
  const std::string file = path_in(folder, *name);
  HEADWISE_TRY(agreed(group, first ? make(option, folder, file) : ok()));
  const Status seen = agreed(group, see(option, folder, file));
  if (first) {
    ::unlink(file.c_str());
  }
  if (first && !seen) {
    ::rmdir(folder.c_str());  // unless it holds the parts of an earlier run
  }
  return seen;
}

}  // namespace headwise::cli
