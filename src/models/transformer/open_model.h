// What the files of a model describe.
#pragma once

#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"
#include "headwise/interop/safetensors.h"
#include "headwise/version.h"
#include "interop/param_file.h"
#include "transformer/description.h"

namespace headwise::inline HEADWISE_ABI::transformer {

// Of config.json, with the heads that it says were pruned. Errors: io_error;
// bad_data, unsupported.
Result<Description> describe_folder(const std::string& folder);
// The same of its text; errors are about `subject`.
Result<Description> describe_text(std::string_view text,
                                  const FileSubject& subject);

struct OpenModel {
  Description description;
  ParamFile file;
};

// A folder with config.json, or a GGUF file. Errors: as above, and those of
// ParamFile::open().
Result<OpenModel> open_model(const std::string& path, FileAccess access);

}  // namespace headwise::inline HEADWISE_ABI::transformer
