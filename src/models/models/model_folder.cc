#include "models/model_folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <utility>

#include "base/out_of_memory.h"
#include "headwise/base/function_ref.h"
#include "interop/error_text.h"
#include "interop/folder.h"
#include "interop/input_file.h"
#include "interop/read_bytes.h"
#include "interop/temporary.h"
#include "models/model_files.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr auto kModelFiles = std::to_array<std::string_view>(
    {"config.json", "vocab.txt", kParamsFile, kClassifierFile, "checkpoint.npz",
     "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
     "added_tokens.json", "modules.json", "sentence_bert_config.json",
     "sentence_distilbert_config.json", "config_sentence_transformers.json"});

// Which files of a folder are the model's.
struct OwnFiles {
  // A file in the folder (`within` is empty) or in one in it ("1_Pooling/").
  FunctionRef<Result<bool>(const std::string& within, const std::string& name)>
      has;
  FunctionRef<Result<bool>(const std::string& name)> has_folder;
};

bool is_of_model(std::string_view name) {
  return std::ranges::find(kModelFiles, name) != kModelFiles.end();
}

// The folders that modules.json names; none if it is not such a file.
Result<std::set<std::string>> module_folders(std::string_view operation,
                                             const std::string& folder) {
  const std::string path = path_in(folder, "modules.json");
  auto file = InputFile::open_if_there(operation, path);
  if (!file && file.error().code() == ErrorCode::bad_data) {
    return std::set<std::string>();
  }
  HEADWISE_TRY(file);
  if (!*file || (*file)->size().value_or(0) > kLargestSettings) {
    return std::set<std::string>();
  }
  HEADWISE_ASSIGN(const auto bytes, (*file)->read_all());
  const auto modules = parse_sentence_modules(text_of(bytes), {"", path});
  if (!modules) {
    return std::set<std::string>();
  }
  std::set<std::string> folders{modules->transformer_folder,
                                modules->pooling_folder};
  folders.insert(modules->dense_folders.begin(), modules->dense_folders.end());
  return folders;
}

// One that cannot be read may hold anything.
bool is_empty_folder(const std::string& path) {
  const auto names = names_in_folder("", path);
  return names && names->empty();
}

// Adds what is in `folder`/`within`.
Status add_entries(std::string_view operation, const std::string& folder,
                   const OwnFiles& own, const std::string& within,
                   FolderEntries& entries) {
  HEADWISE_ASSIGN(const auto names,
                  names_in_folder(operation, path_in(folder, within)));
  for (const std::string& name : names) {
    const std::string below = within + name;
    const std::string path = path_in(folder, below);
    HEADWISE_ASSIGN(const auto kind, kind_of_entry(operation, path));
    if (kind == EntryKind::nothing || is_temporary_name(name)) {
      continue;
    }
    HEADWISE_ASSIGN(const auto is_own, own.has(within, name));
    if (kind == EntryKind::folder && is_own) {
      return io_error({std::string(operation), path}, EISDIR);
    }
    HEADWISE_ASSIGN(const auto is_own_folder,
                    kind == EntryKind::folder && within.empty()
                        ? own.has_folder(name)
                        : Result<bool>(false));
    if (is_own_folder) {
      HEADWISE_TRY(add_entries(operation, folder, own, below + "/", entries));
    } else if (kind == EntryKind::file && is_own) {
      entries.own.push_back(below);
    } else if (kind != EntryKind::folder || !is_empty_folder(path)) {
      entries.foreign.push_back(below);
    }
  }
  return ok();
}

Result<FolderEntries> entries_of(std::string_view operation,
                                 const std::string& folder,
                                 const OwnFiles& own) {
  FolderEntries entries;
  HEADWISE_ASSIGN(const auto kind,
                  kind_of_entry(operation, canonical_path(folder)));
  if (kind == EntryKind::nothing) {
    return entries;
  }
  Status s = add_entries(operation, folder, own, "", entries);
  return s ? Result<FolderEntries>(std::move(entries)) : s.error();
}

}  // namespace

Result<ModelFolder> look_at_model_folder(const std::string& folder,
                                         const std::string& source) try {
  constexpr std::string_view kWriter = "write_model";
  HEADWISE_ASSIGN(const auto entries,
                  entries_of_model(kWriter, folder, source));
  const auto names = names_in_folder(kWriter, folder);
  if (!names && !means_absent(names.error().details().system_error)) {
    return names.error();
  }
  ModelFolder found{
      .has_files = names && !std::ranges::all_of(*names, is_temporary_name)};
  if (!entries.foreign.empty()) {
    found.foreign = entries.foreign.front();
  }
  return found;
} catch (...) {
  return caught_out_of_memory();
}

bool is_settings_file(std::string_view name) {
  return (name.ends_with(".json") || name.ends_with(".txt")) &&
         !name.ends_with(".safetensors.index.json");
}

Result<FolderEntries> entries_of_model(std::string_view operation,
                                       const std::string& folder,
                                       const std::string& source) {
  HEADWISE_ASSIGN(const auto modules, module_folders(operation, folder));
  const auto has = [&](const std::string& within,
                       const std::string& name) -> Result<bool> {
    const bool is_of_module =
        within.empty() || modules.contains(within.substr(0, within.size() - 1));
    if (is_of_module && is_of_model(name)) {
      return true;
    }
    return is_settings_file(name)
               ? is_regular_file(operation, path_in(source, within + name))
               : Result<bool>(false);
  };
  const auto has_folder = [&](const std::string& name) -> Result<bool> {
    if (modules.contains(name)) {
      return true;
    }
    HEADWISE_ASSIGN(const auto kind,
                    kind_of_entry(operation, path_in(source, name)));
    return kind == EntryKind::folder;
  };
  return entries_of(operation, folder, {has, has_folder});
}

Result<FolderEntries> entries_of_files(std::string_view operation,
                                       const std::string& folder,
                                       std::span<const std::string> names) {
  const auto has = [&](const std::string& /*within*/,
                       const std::string& name) -> Result<bool> {
    return std::ranges::find(names, name) != names.end();
  };
  const auto has_folder = [](const std::string& /*name*/) -> Result<bool> {
    return false;
  };
  return entries_of(operation, folder, {has, has_folder});
}

}  // namespace headwise::inline HEADWISE_ABI
