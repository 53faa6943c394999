#include "shared_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <random>
#include <thread>

#include "headwise/distribute/communicator.h"
#include "headwise/interop/atomic_file.h"
#include "headwise/interop/paths.h"
#include "rank_job.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

// Named like a part of no rows: removed with the parts after a kill.
std::string new_name() {
  std::random_device number;
  return fmt::format("rows-none-{}{}", number(), number());
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

// NFS remembers for a while that a path was not there. Opening the folder that
// it lies in asks the server again.
void look_again(const std::string& folder) {
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(),
                                O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) {
    ::close(descriptor);
  }
}

bool is_seen(const std::string& folder, const std::string& file) {
  look_again(folder_of(folder));
  look_again(folder);
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0;
}

Status see(std::string_view option, const std::string& folder,
           const std::string& file, std::chrono::milliseconds longest) {
  constexpr std::chrono::milliseconds kApart{100};
  const auto end = std::chrono::steady_clock::now() + longest;
  bool seen = is_seen(folder, file);
  while (!seen && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kApart);
    seen = is_seen(folder, file);
  }
  return seen ? ok()
              : option_error(option,
                             message("has its parts in {}, where this process "
                                     "does not see the files of rank 0",
                                     folder),
                             "a folder that all processes share",
                             ErrorCode::io_error);
}

}  // namespace

Status share_folder(Communicator& group, std::string_view option,
                    const std::string& folder) {
  const bool first = group.rank() == 0;
  HEADWISE_ASSIGN(const auto name,
                  share_text(group, first ? new_name() : "", 0));
  const std::string file = path_in(folder, name);
  HEADWISE_TRY(agreed(group, first ? make(option, folder, file) : ok()));
  const auto longest = std::min<std::chrono::milliseconds>(
      group.deadline() / 2, std::chrono::seconds(60));
  const Status seen = agreed(group, group.busy_with([&] {
    return see(option, folder, file, longest);
  }));
  if (first) {
    ::unlink(file.c_str());
  }
  if (first && !seen) {
    ::rmdir(folder.c_str());  // unless it holds the parts of an earlier run
  }
  return seen;
}

}  // namespace headwise::cli
