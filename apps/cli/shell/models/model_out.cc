#include "model_out.h"

#include <fmt/format.h>

#include "headwise/models/write_model.h"

namespace headwise::cli {
Outcome check_model_out(const ModelOut& out) {
  if (out.source.ends_with(".gguf")) {
    return usage("--model", message("is {}, a GGUF file", out.source),
                 "the folder of a model: its files are what is written again");
  }
  const auto folder = look_at_model_folder(out.folder, out.source);
  if (!folder) {
    return failure_to_write(folder.error());
  }
  if (out.force) {
    return {};
  }
  if (folder->foreign) {
    return usage("--out",
                 message("is {}, which holds {} (no file of a model)",
                         out.folder, *folder->foreign),
                 "another folder, or --force to keep those files and write the "
                 "model next to them");
  }
  if (!out.replaces_models && folder->has_files) {
    return usage(
        "--out", message("is {}, which holds an earlier model", out.folder),
        out.resumable ? "another folder, --resume to continue that run, or "
                        "--force to replace it"
                      : "another folder, or --force to replace it");
  }
  return {};
}

}  // namespace headwise::cli
