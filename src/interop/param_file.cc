#include "interop/param_file.h"

#include <dirent.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "headwise/interop/npy.h"
#include "interop/error_text.h"

namespace headwise {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// The files NAME.npy of a folder, by NAME. (std::filesystem ends the program
// where memory does.)
Result<std::set<std::string>> npy_names(std::string_view operation,
                                        const std::string& path) {
  constexpr std::string_view kSuffix = ".npy";
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(path.c_str()));
  if (!folder) {
    return io_error(std::string(operation) + ": " + path, errno);
  }
  std::set<std::string> names;
  while (true) {
    errno = 0;  // readdir() says "no more" and "failed" alike
    const dirent* const entry = ::readdir(folder.get());
    if (entry == nullptr && errno != 0) {
      return io_error(std::string(operation) + ": " + path, errno);
    }
    if (entry == nullptr) {
      return names;
    }
    const std::string_view name = entry->d_name;
    if (name.size() > kSuffix.size() && name.ends_with(kSuffix)) {
      names.emplace(name.substr(0, name.size() - kSuffix.size()));
    }
  }
}

template <class Map>
std::set<std::string> keys_of(const Map& map) {
  std::set<std::string> keys;
  for (const auto& [key, value] : map) {
    keys.insert(key);
  }
  return keys;
}

std::string npy_path(const std::string& folder, const std::string& name) {
  return folder + "/" + name + ".npy";
}

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

Result<ParamFile> ParamFile::open(std::string_view operation,
                                  const std::string& path, FileAccess access) {
  ParamFile file;
  file.path_ = path;
  // Takes what was opened and its names.
  const auto hold = [&](auto opened, const auto& names) -> Result<ParamFile> {
    file.names_ = names;
    file.arrays_ = std::move(opened);
    return std::move(file);
  };
  if (is_folder(path)) {
    auto names = npy_names(operation, path);
    return names ? hold(Folder{}, *names) : names.error();
  }
  if (path.ends_with(".safetensors")) {
    auto opened = open_safetensors(path, access);
    return opened ? hold(*opened, keys_of(opened->tensors())) : opened.error();
  }
  if (path.ends_with(".safetensors.index.json")) {
    auto opened = open_sharded_safetensors(path, access);
    return opened ? hold(*opened, keys_of(opened->shard_names()))
                  : opened.error();
  }
  auto opened = read_npz(path);
  if (!opened) {
    return opened.error();
  }
  const auto names = keys_of(*opened);
  return hold(*std::move(opened), names);
}

std::string ParamFile::place_of(const std::string& name) const {
  const std::string shown = printable(name);
  return std::holds_alternative<Folder>(arrays_) ? npy_path(path_, shown)
                                                 : path_ + ": " + shown;
}

Result<Array> ParamFile::read(const std::string& name) const {
  if (const auto* arrays = std::get_if<NamedArrays>(&arrays_)) {
    return arrays->at(name);
  }
  if (const auto* file = std::get_if<SafetensorsFile>(&arrays_)) {
    return file->array(name);
  }
  if (const auto* model = std::get_if<ShardedSafetensors>(&arrays_)) {
    return model->array(name);
  }
  return read_npy(npy_path(path_, name));
}

Result<ShapesByName> ParamFile::shapes() const {
  ShapesByName shapes;
  const auto* const file = std::get_if<SafetensorsFile>(&arrays_);
  const auto* const model = std::get_if<ShardedSafetensors>(&arrays_);
  for (const std::string& name : names_) {
    if (file != nullptr) {
      shapes.emplace(name, file->tensors().at(name).shape);
    } else if (model != nullptr) {
      const SafetensorsFile& shard =
          model->shards().at(model->shard_names().at(name));
      shapes.emplace(name, shard.tensors().at(name).shape);
    } else {
      Result<Array> array = read(name);
      if (!array) {
        return array.error();
      }
      shapes.emplace(name, std::move(array->shape));
    }
  }
  return shapes;
}

}  // namespace headwise
