#include "headwise/models/write_model.h"

#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/models/model_settings.h"
#include "interop/atomic_folder.h"
#include "interop/error_text.h"
#include "interop/find_params.h"
#include "interop/folder.h"
#include "interop/param_file.h"
#include "models/model_folder.h"
#include "transformer/file_params.h"
#include "transformer/kept_heads.h"
#include "transformer/open_model.h"
#include "transformer/pruned_stack.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kWriteModel = "write_model";

// The settings of a folder and, down to `depth`, of those in it. Files may be
// links, folders may not (model_settings.h).
Status copy_settings(const std::string& source, const std::string& folder,
                     int depth) {
  HEADWISE_ASSIGN(const auto names, names_in_folder(kWriteModel, source));
  bool is_made = false;
  for (const std::string& name : names) {
    const std::string from = path_in(source, name);
    const std::string to = path_in(folder, name);
    const bool is_settings = is_settings_file(name);
    HEADWISE_ASSIGN(const auto kind, is_settings
                                         ? kind_behind_links(kWriteModel, from)
                                         : kind_of_entry(kWriteModel, from));
    if (is_settings && kind == EntryKind::file) {
      if (!is_made) {
        HEADWISE_TRY(make_folder(kWriteModel, folder));
        is_made = true;
      }
      HEADWISE_TRY(copy_file(kWriteModel, from, to));
    } else if (depth > 0 && kind == EntryKind::folder) {
      HEADWISE_TRY(copy_settings(from, to, depth - 1));
    }
  }
  return ok();
}

Status write_probe(const std::string& source, const std::string& folder,
                   const LabelProbe* probe) {
  if (probe != nullptr) {
    return probe->write(folder);
  }
  const std::string name = "/" + std::string(kClassifierFile);
  HEADWISE_ASSIGN(const auto is_file,
                  is_regular_file(kWriteModel, source + name));
  return is_file ? copy_file(kWriteModel, source + name, folder + name) : ok();
}

std::string old_name(const std::string& name) {
  for (const auto& [now, old] :
       {std::pair<std::string_view, std::string_view>{".weight", ".gamma"},
        {".bias", ".beta"}}) {
    if (name.ends_with(now)) {
      return name.substr(0, name.size() - now.size()) + std::string(old);
    }
  }
  return name;
}

// What the source calls a parameter: old files say gamma and beta of norms, and
// some have an outer name in front.
std::string name_in(const ParamFile& file, std::string_view prefix,
                    const std::string& inner) {
  const std::string outer = std::string(prefix) + inner;
  const std::string& name =
      file.names().contains(outer) || file.names().contains(old_name(outer))
          ? outer
          : inner;
  const std::string old = old_name(name);
  return file.names().contains(old) ? old : name;
}

// The changed parameters as the source's files have them, by their names there.
Result<transformer::FileParams> file_params_of(const ParamFile& file,
                                               const std::string& source,
                                               const ModelSettings& settings,
                                               const ModelChanges& changes) {
  const FileSubject subject{std::string(kWriteModel), source};
  HEADWISE_ASSIGN(auto description,
                  transformer::describe_folder(settings.transformer_folder));
  description.keep_encoder();
  transformer::StackSpec& stack = description.stack;
  HEADWISE_TRY(transformer::take_kept_heads(file.metadata(), subject, stack));
  for (std::size_t n = 0; changes.kept_heads && n < stack.layers.size(); ++n) {
    const auto& lists = *changes.kept_heads;
    stack.layers[n].kept_heads =
        n < lists.size() ? std::optional(lists[n]) : std::nullopt;
  }
  HEADWISE_ASSIGN(auto params,
                  transformer::file_params(description, changes.params));
  std::map<std::string, AnyView> named;
  for (const auto& [name, view] : params.views) {
    const std::string in_file = name_in(file, description.prefix, name);
    if (!file.names().contains(in_file)) {
      return subject.error(ErrorCode::invalid_argument,
                           message("has no {}", printable(in_file)),
                           "one to replace");
    }
    HEADWISE_ASSIGN(const auto before, file.tensor(in_file));
    HEADWISE_ASSIGN(auto now,
                    transformer::in_type(before.view.dtype(), view, params));
    named.emplace(in_file, std::move(now));
  }
  params.views = std::move(named);
  return params;
}

Status write_params(const std::string& source, const std::string& path,
                    const ModelSettings& settings,
                    const ModelChanges& changes) {
  HEADWISE_ASSIGN(const auto file,
                  ParamFile::open(kWriteModel, source, FileAccess::mapped));
  HEADWISE_ASSIGN(const auto changed,
                  file_params_of(file, source, settings, changes));
  std::map<std::string, AnyView> views = changed.views;
  std::vector<SafetensorsTensor> kept;  // what the views look into
  for (const std::string& name : file.names()) {
    if (views.contains(name)) {
      continue;
    }
    HEADWISE_ASSIGN(auto tensor, file.tensor(name));
    views.emplace(name, tensor.view);
    kept.push_back(std::move(tensor));
  }
  SafetensorsMetadata metadata = file.metadata();
  if (changes.kept_heads) {
    write_kept_heads(*changes.kept_heads, metadata);
  }
  return write_safetensors(path, views, metadata);
}

Status fill(const std::string& folder, const std::string& source,
            const std::string& inner, const std::string& params,
            const ModelSettings& settings, const ModelChanges& changes) {
  HEADWISE_TRY(copy_settings(source, folder, kModelFolderDepth));
  HEADWISE_TRY(write_probe(source, folder, changes.probe));
  for (const DenseSettings& dense : settings.dense) {
    const std::string within = dense.folder.substr(source.size());
    const std::string name = "/" + std::string(kParamsFile);
    HEADWISE_TRY(
        copy_file(kWriteModel, dense.folder + name, folder + within + name));
  }
  return write_params(params, folder + inner + "/" + std::string(kParamsFile),
                      settings, changes);
}

Status check_place(const std::string& source, const std::string& folder) {
  HEADWISE_TRY(check_path(kWriteModel, folder));
  const std::string place = canonical_path(folder);
  HEADWISE_ASSIGN(const auto is_source,
                  are_one_folder(kWriteModel, source, folder));
  if (is_source) {
    return value_error(kWriteModel, "folder", printable(folder),
                       "another than the source's");
  }
  if (lies_in(place, canonical_path(source))) {
    return value_error(kWriteModel, "folder", printable(folder),
                       "one outside the source's");
  }
  return ok();
}

Status write(const std::string& source, const std::string& folder,
             const ModelChanges& changes) {
  if (source.ends_with(".gguf")) {
    return FileSubject{std::string(kWriteModel), source}.error(
        ErrorCode::unsupported, "is a GGUF file", "the folder of a model");
  }
  HEADWISE_ASSIGN(const auto settings, read_model_settings(source));
  HEADWISE_ASSIGN(const auto params,
                  find_params(kWriteModel, settings.transformer_folder));
  HEADWISE_TRY(check_place(source, folder));
  HEADWISE_ASSIGN(const auto old,
                  entries_of_model(kWriteModel, folder, source));
  if (!old.foreign.empty() && !changes.keep_other_files) {
    return FileSubject{std::string(kWriteModel), folder}.error(
        ErrorCode::invalid_argument,
        message("has {}", printable(old.foreign.front())),
        "the files of a model only");
  }
  // It is the source, or a folder in it.
  const std::string inner = settings.transformer_folder.substr(source.size());
  return write_folder_atomically(
      {.operation = kWriteModel,
       .place = folder,
       .old = old,
       .last = inner.empty() ? "config.json" : inner.substr(1) + "/config.json",
       .keep = changes.keep},
      [&](const std::string& fresh) {
        return fill(fresh, source, inner, params, settings, changes);
      });
}

}  // namespace

Status write_model(const std::string& source, const std::string& folder,
                   const ModelChanges& changes) {
  return catching_out_of_memory([&] { return write(source, folder, changes); });
}

void recover_model(const std::string& folder) { recover_folder(folder); }

}  // namespace headwise::inline HEADWISE_ABI
