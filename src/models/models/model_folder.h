// Which files make up a model's folder, and which of those that a folder has
// are somebody else's.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/models/write_model.h"  // IWYU pragma: export
#include "interop/atomic_folder.h"

namespace headwise::inline HEADWISE_ABI {

inline constexpr std::string_view kParamsFile = "model.safetensors";
inline constexpr std::string_view kClassifierFile = "classifier.safetensors";
// Of the folders in a model's folder, those that are read are in it directly.
inline constexpr int kModelFolderDepth = 1;

// Whether it is a file of settings, of the vocabulary or of the tokenizer.
bool is_settings_file(std::string_view name);

// The entries of a folder in the order of names. A folder in it is one foreign
// entry unless it belongs to the model or is empty. Temporary files are neither
// own nor foreign. Nothing where the folder is not there.
//
// Of a model that is made from `source`: it has the files that transformers,
// sentence-transformers and headwise write, and the settings that `source` has;
// in folders: what `source` has there, and the modules that the
// folder's modules.json names. Errors: io_error, also for a folder where a file
// belongs.
Result<FolderEntries> entries_of_model(std::string_view operation,
                                       const std::string& folder,
                                       const std::string& source);
// Of a model that has these files only. Errors as above.
Result<FolderEntries> entries_of_files(std::string_view operation,
                                       const std::string& folder,
                                       std::span<const std::string> names);

}  // namespace headwise::inline HEADWISE_ABI
