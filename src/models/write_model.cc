#include "headwise/models/write_model.h"

#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/interop/atomic_file.h"
#include "headwise/interop/layouts.h"
#include "headwise/models/model_settings.h"
#include "interop/error_text.h"
#include "interop/find_params.h"
#include "interop/folder.h"
#include "interop/input_file.h"
#include "interop/param_file.h"
#include "models/bert_names.h"
#include "models/kept_heads.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOperation = "write_model";
constexpr std::string_view kProbeFile = "/classifier.safetensors";

bool is_settings_file(std::string_view name) {
  return (name.ends_with(".json") || name.ends_with(".txt")) &&
         !name.ends_with(".safetensors.index.json");
}

Status copy_one(const std::string& from, const std::string& to) {
  auto file = InputFile::open(kOperation, from);
  if (!file) {
    return file.error();
  }
  const auto bytes = file->read_all();
  return bytes ? write_file_atomically(to, *bytes) : bytes.error();
}

// The settings of a folder and, down to `depth`, of those in it. Files may be
// links, folders may not (model_settings.h).
Status copy_settings(const std::string& source, const std::string& folder,
                     int depth) {
  const auto names = names_in_folder(kOperation, source);
  if (!names) {
    return names.error();
  }
  bool is_made = false;
  for (const std::string& name : *names) {
    const std::string from = source + "/" + name;
    const std::string to = folder + "/" + name;
    Status s = ok();
    if (is_settings_file(name) && is_regular_file(from)) {
      s = is_made ? ok() : make_folder(kOperation, folder);
      is_made = true;
      s = s ? copy_one(from, to) : s;
    } else if (depth > 0 && check_folder_named_by_file(kOperation, from)) {
      s = copy_settings(from, to, depth - 1);
    }
    if (!s) {
      return s;
    }
  }
  return ok();
}

Status write_probe(const std::string& source, const std::string& folder,
                   const LabelProbe* probe) {
  if (probe != nullptr) {
    return probe->write(folder);
  }
  const std::string name(kProbeFile);
  return is_regular_file(source + name) ? copy_one(source + name, folder + name)
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
  if (Status s = make_folder(kOperation, folder); !s) {
    return s;
  }
  if (are_one_folder(source, folder)) {
    return value_error(kOperation, "folder", printable(folder),
                       "another than the source's");
  }
  constexpr int kDepth = 1;  // of the folders that modules.json names
  Status s = copy_settings(source, folder, kDepth);
  s = s ? write_probe(source, folder, changes.probe) : s;
  // It is the source, or a folder in it.
  const std::string inner = settings->transformer_folder.substr(source.size());
  return s ? write_params(*params, folder + inner + "/model.safetensors",
                          *settings, changes)
           : s;
}

}  // namespace

Status write_model(const std::string& source, const std::string& folder,
                   const ModelChanges& changes) {
  return catching_out_of_memory([&] { return write(source, folder, changes); });
}

}  // namespace headwise::inline HEADWISE_ABI
