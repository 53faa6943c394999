// Which files make up a model's folder, and which of those that a folder has
// are somebody else's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "headwise/models/model_folder.h"  // IWYU pragma: export

namespace headwise::inline HEADWISE_ABI {

inline constexpr std::string_view kParamsFile = "model.safetensors";
inline constexpr std::string_view kClassifierFile = "classifier.safetensors";
// Of the folders in a model's folder, those that are read are in it directly.
inline constexpr int kModelFolderDepth = 1;

// Whether it is a file of settings, of the vocabulary or of the tokenizer.
bool is_settings_file(std::string_view name);

// The first entry of `folder`, in the order of names, that a model written
// there would not have: "notes.md", or "1_Pooling/notes.md". A model has the
// files that transformers, sentence-transformers and headwise write, and the
// settings that `source` has. Nothing where the folder is empty or not there.
// Errors: io_error, also for a folder where a file belongs.
Result<std::optional<std::string>> first_foreign_file(
    std::string_view operation, const std::string& folder,
    const std::string& source);

// Removes the files of a model, config.json first: without it no reader uses
// the rest. Errors: io_error.
Status remove_model_files(std::string_view operation, const std::string& folder,
                          const std::string& source);

}  // namespace headwise::inline HEADWISE_ABI
