#include "model_out.h"

#include <fmt/format.h>

#include <algorithm>

#include "interop/folder.h"
#include "interop/leftovers.h"
#include "models/model_folder.h"

namespace headwise::cli {
namespace {

bool has_files(const std::string& folder) {
  const auto names = names_in_folder("--out", folder);
  return names && !std::ranges::all_of(*names, is_temporary_name);
}

}  // namespace

Outcome check_model_out(const ModelOut& out) {
  const auto foreign =
      first_foreign_file("write_model", out.folder, out.source);
  if (!foreign) {
    return failure_to_write(foreign.error());
  }
  if (out.force) {
    return {};
  }
  if (*foreign) {
    return usage(
        fmt::format("--out is {}, which holds {}, no file of a model: expected "
                    "another folder, or --force to write beside such files",
                    out.folder, **foreign));
  }
  if (!out.replaces_models && has_files(out.folder)) {
    return usage(
        fmt::format("--out is {}, which holds an earlier model: expected "
                    "another folder, or --force to replace it",
                    out.folder));
  }
  return {};
}

}  // namespace headwise::cli
