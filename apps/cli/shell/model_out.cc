#include "model_out.h"

#include <fmt/format.h>

#include "headwise/models/model_folder.h"

namespace headwise::cli {
Outcome check_model_out(const ModelOut& out) {
  const auto folder = look_at_model_folder(out.folder, out.source);
  if (!folder) {
    return failure_to_write(folder.error());
  }
  if (out.force) {
    return {};
  }
  if (folder->foreign) {
    return usage(
        fmt::format("--out is {}, which holds {}, no file of a model: expected "
                    "another folder, or --force to write beside such files",
                    out.folder, *folder->foreign));
  }
  if (!out.replaces_models && folder->has_files) {
    return usage(
        fmt::format("--out is {}, which holds an earlier model: expected "
                    "another folder, or --force to replace it",
                    out.folder));
  }
  return {};
}

}  // namespace headwise::cli
