#include "out_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

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
    if (place.status && !S_ISREG(place.status->st_mode)) {
      return usage(
          "--out",
          fmt::format("is {}, whose {} is not a regular file", folder, name),
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

Status make_out_folder(const std::string& folder) {
  constexpr mode_t kAsTheUmaskSays = 0777;
  if (::mkdir(folder.c_str(), kAsTheUmaskSays) == 0) {
    return ok();
  }
  const int error = errno;
  if (error != EEXIST) {
    return failed(folder, error);
  }
  return place_of(folder).is_folder() ? ok() : failed(folder, ENOTDIR);
}

Status remove_result(const std::string& path) {
  return ::unlink(path.c_str()) == 0 || errno == ENOENT ? ok()
                                                        : failed(path, errno);
}

}  // namespace headwise::cli
