// The folder that a command writes a model to.
#pragma once

#include <string>

#include "shell/outcome.h"

namespace headwise::cli {

struct ModelOut {
  std::string folder;  // of --out
  std::string source;  // of --model
  bool force = false;
  bool replaces_models = false;  // without --force
  bool resumable = false;        // by --resume, for a checkpoint is there
};

// Whether a model may be written: not to a folder with files of something else,
// nor over an earlier model, unless the flags say so.
Outcome check_model_out(const ModelOut& out);

}  // namespace headwise::cli
