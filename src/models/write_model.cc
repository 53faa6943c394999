#include "headwise/models/write_model.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "base/out_of_memory.h"
#include "headwise/interop/atomic_file.h"
#include "headwise/interop/layouts.h"
#include "headwise/models/model_settings.h"
#include "interop/error_text.h"
#include "interop/find_params.h"
#include "interop/input_file.h"
#include "interop/param_file.h"
#include "models/bert_names.h"
#include "models/kept_heads.h"

namespace headwise {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOperation = "write_model";

Error io_error_of(const fs::path& path, const std::error_code& error) {
  return {ErrorCode::io_error, std::string(kOperation) + ": " + path.string() +
                                   ": " + error.message()};
}

bool is_settings_file(const fs::path& path) {
  return (path.extension() == ".json" || path.extension() == ".txt") &&
         !path.string().ends_with(".safetensors.index.json");
}

// The files to be copied, their paths in the source's folder.
Result<std::vector<fs::path>> settings_files(const fs::path& source) {
  constexpr int kDeepest = 1;  // of the folders that modules.json names
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator it(source, error);
  for (; !error && it != fs::recursive_directory_iterator();
       it.increment(error)) {
    if (it.depth() >= kDeepest) {
      it.disable_recursion_pending();
    }
    std::error_code unreadable;
    if (it->is_regular_file(unreadable) && is_settings_file(it->path())) {
      files.push_back(fs::relative(it->path(), source, unreadable));
    }
  }
  if (error) {
    return io_error_of(source, error);
  }
  std::ranges::sort(files);
  return files;
}

Status copy_one(const fs::path& from, const fs::path& to) {
  auto file = InputFile::open(kOperation, from.string());
  if (!file) {
    return file.error();
  }
  const auto bytes = file->read_all();
  if (!bytes) {
    return bytes.error();
  }
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  return error ? io_error_of(to.parent_path(), error)
               : write_file_atomically(to.string(), *bytes);
}

Status copy_settings(const fs::path& source, const fs::path& folder) {
  const auto files = settings_files(source);
  if (!files) {
    return files.error();
  }
  for (const fs::path& file : *files) {
    if (Status s = copy_one(source / file, folder / file); !s) {
      return s;
    }
  }
  const fs::path probe = "classifier.safetensors";
  std::error_code none;
  return fs::is_regular_file(source / probe, none)
             ? copy_one(source / probe, folder / probe)
             : ok();
}

// What the source calls a parameter: old files say gamma and beta of norms.
std::string name_in(const ParamFile& file, const std::string& name) {
  for (const auto& [now, old] :
       {std::pair<std::string_view, std::string_view>{".weight", ".gamma"},
        {".bias", ".beta"}}) {
    if (name.ends_with(now) && !file.names().contains(name)) {
      const std::string other =
          name.substr(0, name.size() - now.size()) + std::string(old);
      return file.names().contains(other) ? other : name;
    }
  }
  return name;
}

Status write_params(const std::string& source, const std::string& path,
                    const ModelSettings& settings,
                    const ModelChanges& changes) {
  const auto file = ParamFile::open(kOperation, source, FileAccess::mapped);
  if (!file) {
    return file.error();
  }
  const auto shapes = file->shapes();
  if (!shapes) {
    return shapes.error();
  }
  const auto match =
      find_layout(*shapes, std::string(kOperation) + ": " + source,
                  bert_names(settings.config.family).layout);
  if (!match) {
    return match.error();
  }
  std::map<std::string, AnyView> views;
  for (const auto& [name, view] : changes.params) {
    const std::string in_file = name_in(*file, match->prefix + name);
    if (!file->names().contains(in_file)) {
      return Error{ErrorCode::invalid_argument,
                   std::string(kOperation) + ": " + source + " has no " +
                       printable(in_file) + ", expected one to replace"};
    }
    views.emplace(in_file, view);
  }
  std::vector<SafetensorsTensor> kept;  // what the views look into
  for (const std::string& name : file->names()) {
    if (views.contains(name)) {
      continue;
    }
    auto tensor = file->tensor(name);
    if (!tensor) {
      return tensor.error();
    }
    views.emplace(name, tensor->view);
    kept.push_back(*std::move(tensor));
  }
  SafetensorsMetadata metadata = file->metadata();
  if (changes.config != nullptr) {
    write_kept_heads(*changes.config, metadata);
  }
  return write_safetensors(path, views, metadata);
}

Status write(const std::string& source, const std::string& folder,
             const ModelChanges& changes) {
  const auto settings = read_model_settings(source);
  if (!settings) {
    return settings.error();
  }
  const auto params = find_params(kOperation, settings->transformer_folder);
  if (!params) {
    return params.error();
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return io_error_of(folder, error);
  }
  if (fs::equivalent(source, folder, error)) {
    return Error{ErrorCode::invalid_argument,
                 std::string(kOperation) + ": folder is " + printable(folder) +
                     ", expected another than the source's"};
  }
  if (Status s = copy_settings(source, folder); !s) {
    return s;
  }
  if (changes.probe != nullptr) {
    if (Status s = changes.probe->write(folder); !s) {
      return s;
    }
  }
  const fs::path inner =
      fs::relative(settings->transformer_folder, source, error);
  const fs::path to = (folder / inner).lexically_normal() / "model.safetensors";
  return write_params(*params, to.string(), *settings, changes);
}

}  // namespace

Status write_model(const std::string& source, const std::string& folder,
                   const ModelChanges& changes) {
  return catching_out_of_memory([&] { return write(source, folder, changes); });
}

}  // namespace headwise
