#include "interop/find_params.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

#include "base/out_of_memory.h"
#include "interop/error_text.h"
#include "interop/folder.h"
#include "interop/input_file.h"
#include "interop/param_file.h"
#include "interop/pytorch_file.h"

namespace headwise::internal::inline HEADWISE_ABI {
namespace {

constexpr std::array<std::string_view, 3> kModelFiles = {
    "model.safetensors", "model.safetensors.index.json", "params.npz"};
constexpr std::array<std::string_view, 4> kEndings = {
    ".safetensors", ".safetensors.index.json", ".npz", ".npy"};

bool has_known_ending(const std::string& path) {
  return std::ranges::any_of(kEndings, [&](std::string_view ending) {
    return path.ends_with(ending);
  });
}

Result<std::string> find_in_folder(std::string_view operation,
                                   const std::string& path) {
  for (const std::string_view name : kModelFiles) {
    std::string file = path;
    file += path.ends_with('/') ? "" : "/";
    file += name;
    HEADWISE_TRY(check_regular_file(operation, file));
    HEADWISE_ASSIGN(const auto kind, kind_behind_links(operation, file));
    if (kind != EntryKind::nothing) {
      return file;
    }
  }
  HEADWISE_ASSIGN(const auto folder, ParamFile::open(operation, path));
  if (folder.names().empty()) {
    HEADWISE_ASSIGN(const auto pickled,
                    is_regular_file(operation, path + "/pytorch_model.bin"));
    return FileSubject{std::string(operation), path}.bad_data(
        pickled
            ? message("has no model.safetensors, no "
                      "model.safetensors.index.json, no params.npz and no file "
                      "NAME.npy; its pytorch_model.bin {}",
                      Message(kWhyNoPytorch))
            : Message(
                  "has no model.safetensors, no model.safetensors.index.json, "
                  "no params.npz and no file NAME.npy"));
  }
  return path;
}

// Why a file of another ending is not read.
Error no_params_error(std::string_view operation, const std::string& path) {
  HEADWISE_ASSIGN(auto file, InputFile::open(operation, path));
  constexpr std::size_t kEnough = 8;
  std::array<std::byte, kEnough> start{};
  HEADWISE_ASSIGN(const auto got, file.read(start));
  if (is_pytorch_file(std::span(start).first(got))) {
    return file.subject().bad_data(kWhyNoPytorch);
  }
  return file.subject().bad_data(
      got == 0 ? "is empty" : "is not a parameter file",
      "a .safetensors, .safetensors.index.json, .npz or .npy file, or a folder "
      "of such files");
}

}  // namespace

Result<std::string> find_params(std::string_view operation,
                                const std::string& path) {
  return catching_out_of_memory([&]() -> Result<std::string> {
    const FileSubject subject{std::string(operation), path};
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
      return io_error(subject, errno);
    }
    if (S_ISDIR(status.st_mode)) {
      return find_in_folder(operation, path);
    }
    if (has_known_ending(path)) {
      return path;
    }
    // A pipe would wait for a writer.
    return S_ISREG(status.st_mode)
               ? no_params_error(operation, path)
               : subject.bad_data("is not a regular file or a folder");
  });
}

Status check_param_ending(std::string_view operation, const std::string& path) {
  return catching_out_of_memory([&]() -> Status {
    if (has_known_ending(path)) {
      return ok();
    }
    HEADWISE_ASSIGN(const auto is_file, is_regular_file(operation, path));
    return is_file ? Status(no_params_error(operation, path)) : ok();
  });
}

}  // namespace headwise::internal::inline HEADWISE_ABI
