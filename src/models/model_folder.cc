#include "models/model_folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <set>
#include <vector>

#include "base/out_of_memory.h"
#include "interop/error_text.h"
#include "interop/folder.h"
#include "interop/leftovers.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kConfig = "config.json";
constexpr auto kModelFiles = std::to_array<std::string_view>(
    {kConfig, "vocab.txt", kParamsFile, kClassifierFile, "checkpoint.npz",
     "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
     "added_tokens.json", "modules.json", "sentence_bert_config.json",
     "sentence_distilbert_config.json", "config_sentence_transformers.json"});

// The contents of a folder, by kind.
struct Entries {
  std::vector<std::string> models;   // files of a model
  std::vector<std::string> foreign;  // anything else
};

// Adds what is in `folder`/`within`; `within` is empty or ends with a slash.
Status add_entries(std::string_view operation, const std::string& folder,
                   const std::string& source, const std::string& within,
                   Entries& entries) {
  const auto names = names_in_folder(operation, path_in(folder, within));
  HEADWISE_TRY(names);
  for (const std::string& name : *names) {
    const std::string below = within + name;
    const bool known =
        std::ranges::find(kModelFiles, name) != kModelFiles.end();
    const bool of_source =
        is_settings_file(name) && is_regular_file(path_in(source, below));
    const EntryKind kind = kind_of_entry(path_in(folder, below));
    if (kind == EntryKind::folder && known) {
      return io_error({std::string(operation), path_in(folder, below)}, EISDIR);
    }
    if (kind == EntryKind::folder && within.empty()) {
      HEADWISE_TRY(
          add_entries(operation, folder, source, below + "/", entries));
    } else if (kind == EntryKind::file &&
               (known || of_source || is_temporary_name(name))) {
      entries.models.push_back(below);
    } else if (kind != EntryKind::nothing) {
      entries.foreign.push_back(below);
    }
  }
  return ok();
}

Result<Entries> entries_of(std::string_view operation,
                           const std::string& folder,
                           const std::string& source) {
  Entries entries;
  if (kind_of_entry(canonical_path(folder)) == EntryKind::nothing) {
    return entries;
  }
  Status s = add_entries(operation, folder, source, "", entries);
  return s ? Result<Entries>(std::move(entries)) : s.error();
}

// Model files in the folder and in folders in it, `depth` levels down.
std::vector<std::string> files_in(const std::string& folder, int depth) {
  std::vector<std::string> files;
  const auto names = names_in_folder("", folder);
  for (const std::string& name : names ? *names : std::set<std::string>()) {
    const std::string path = path_in(folder, name);
    if (may_be_model_file(name)) {
      files.push_back(path);
    } else if (depth > 0 && check_folder("", path)) {
      std::ranges::move(files_in(path, depth - 1), std::back_inserter(files));
    }
  }
  return files;
}

}  // namespace

bool may_be_model_file(std::string_view name) {
  constexpr auto kEndings = std::to_array<std::string_view>(
      {".json", ".txt", ".safetensors", ".weight.npy", ".bias.npy"});
  return std::ranges::any_of(kEndings, [&](std::string_view ending) {
    return name.ends_with(ending);
  });
}

std::vector<std::string> model_files_in(const std::string& folder) {
  return files_in(folder, kModelFolderDepth);
}

Result<ModelFolder> look_at_model_folder(const std::string& folder,
                                         const std::string& source) try {
  constexpr std::string_view kWriter = "write_model";
  auto foreign = first_foreign_file(kWriter, folder, source);
  HEADWISE_TRY(foreign);
  const auto names = names_in_folder(kWriter, folder);
  return ModelFolder{
      .has_files = names && !std::ranges::all_of(*names, is_temporary_name),
      .foreign = *std::move(foreign)};
} catch (...) {
  return caught_out_of_memory();
}

bool is_settings_file(std::string_view name) {
  return (name.ends_with(".json") || name.ends_with(".txt")) &&
         !name.ends_with(".safetensors.index.json");
}

Result<std::optional<std::string>> first_foreign_file(
    std::string_view operation, const std::string& folder,
    const std::string& source) {
  const auto entries = entries_of(operation, folder, source);
  HEADWISE_TRY(entries);
  return entries->foreign.empty()
             ? std::optional<std::string>()
             : std::optional<std::string>(
                   *std::ranges::min_element(entries->foreign));
}

Status remove_model_files(std::string_view operation, const std::string& folder,
                          const std::string& source) {
  auto entries = entries_of(operation, folder, source);
  HEADWISE_TRY(entries);
  std::stable_partition(
      entries->models.begin(), entries->models.end(),
      [](std::string_view name) { return name.ends_with(kConfig); });
  for (const std::string& name : entries->models) {
    HEADWISE_TRY(remove_file(operation, path_in(folder, name)));
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
