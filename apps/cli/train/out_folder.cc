#include "out_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "headwise/interop/file_subject.h"
#include "shell/file_place.h"

namespace headwise::cli {
namespace {

Error failed(const std::string& path, int error) {
  return system_error({.operation = "--out", .file = path}, error);
}

}  // namespace

Outcome check_regular_files(const std::string& folder,
                            const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const FilePlace place = place_of(folder + "/" + name);
    if (place.error != 0) {
      return failure_to_write(failed(folder + "/" + name, place.error));
    }
    if (place.status && !S_ISREG(place.status->st_mode)) {
      return usage(
          "--out",
          message("is {}, whose {} is not a regular file", folder, name),
          "another folder");
    }
  }
  return {};
}

std::string checkpoint_path(const std::string& folder) {
  return fmt::format("{}/{}", folder, kCheckpointFile);
}

Result<Checkpoint> read_run(const std::string& folder) {
  const std::string path = checkpoint_path(folder);
  const FilePlace place = place_of(path);
  if (place.status && !place.is_folder() && !S_ISREG(place.status->st_mode)) {
    return FileSubject{"read_checkpoint", path}.bad_data(
        "is not a regular file");
  }
  return read_checkpoint(path);
}

bool resumes_in_place(const TrainFlags& flags) {
  if (flags.resume.empty()) {
    return false;
  }
  const FilePlace from = place_of(flags.resume);
  return from.is_folder() && are_one_file(from, place_of(flags.out));
}

bool has_results_of_checkpoint(const std::string& folder,
                               const std::vector<std::string>& names) {
  const auto time_of = [&](std::string_view name) {
    const FilePlace place = place_of(fmt::format("{}/{}", folder, name));
    const timespec time = place.status ? place.status->st_mtim : timespec{};
    return std::pair(time.tv_sec, time.tv_nsec);
  };
  const auto checkpoint = time_of(kCheckpointFile);
  return checkpoint != std::pair<time_t, long>() &&
         std::ranges::all_of(names, [&](const std::string& name) {
           return time_of(name) >= checkpoint;
         });
}

Result<bool> make_out_folder(const std::string& folder) {
  constexpr mode_t kAsTheUmaskSays = 0777;
  if (::mkdir(folder.c_str(), kAsTheUmaskSays) == 0) {
    return true;
  }
  const int error = errno;
  if (error != EEXIST) {
    return failed(folder, error);
  }
  const FilePlace place = place_of(folder);
  return place.is_folder()
             ? Result<bool>(false)
             : failed(folder, place.error != 0 ? place.error : ENOTDIR);
}

void remove_empty_folder(const std::string& folder) { ::rmdir(folder.c_str()); }

Status remove_result(const std::string& path) {
  return ::unlink(path.c_str()) == 0 || errno == ENOENT ? ok()
                                                        : failed(path, errno);
}

}  // namespace headwise::cli
