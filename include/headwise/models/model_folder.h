// What a folder holds, before a model in it is read or replaced.
#pragma once

#include <optional>
#include <string>

#include "headwise/base/result.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct ModelFolder {
  bool has_files = false;  // besides those of an interrupted write
  // The first entry, by name, that does not belong to a model: "notes.md", or
  // "1_Pooling/notes.md".
  std::optional<std::string> foreign{};
};

// A model has the files that transformers, sentence-transformers and headwise
// write, and the settings files of `source`, the model it is made from. A
// folder that does not exist has no files. Errors: io_error, also for a folder
// with the name of a model file.
Result<ModelFolder> look_at_model_folder(const std::string& folder,
                                         const std::string& source);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
