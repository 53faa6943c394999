// Writes a model's folder with changed parameters:
//
//   model.safetensors       the source's tensors, replaced by those in `params`
//                           in the form that the source has them in (fused,
//                           transposed); its metadata says which heads were
//                           kept
//   classifier.safetensors  `probe`, or the source's if there is none
//   *.json, *.txt           as in the source and its folders (the settings, the
//                           vocabulary, the tokenizer)
//
// So everything else has the source's bytes, including tensors that headwise
// does not read (such as BERT's pooler). The new folder is written next to the
// old one and replaces it in one step: a failure or a kill leaves the old model
// or the new one, never files of both. Files that the new model does not have
// are removed with the old one. A folder that holds anything but a model is
// refused or, with `keep_other_files`, keeps the rest: the new files take the
// places of the old ones, config.json last, and a failure puts those back. So
// does a folder where something is mounted.
//
// Errors: io_error; bad_data for a source that cannot be read; invalid_argument
// if `folder` is the source, is inside it or holds other files, or if a
// parameter has a name that the source does not have, or for a path in `keep`;
// out_of_memory; unsupported for a matrix that holds each key head's rows
// beside those of its queries (Falcon's), once heads of other groups differ in
// number.
//
// Example:
//   Status s = write_model("model", "pruned",
//                          {.params = encoder.attention_params(),
//                           .kept_heads = heads_left(encoder)});
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "headwise/base/any_view.h"
#include "headwise/base/result.h"
#include "headwise/models/label_probe.h"
#include "headwise/models/model_settings.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct ModelChanges {
  // By the names that Transformer::params() uses.
  std::map<std::string, AnyView> params{};
  // Of each layer, the numbers of the heads that it has; empty: all. Not given:
  // the source's.
  std::optional<std::vector<std::vector<std::size_t>>> kept_heads{};
  const LabelProbe* probe = nullptr;
  // Names of files of the old folder to keep, such as a run's checkpoint.npz.
  std::vector<std::string> keep{};
  bool keep_other_files = false;
};

Status write_model(const std::string& source, const std::string& folder,
                   const ModelChanges& changes);

// Cleans up after a write_model() to `folder` whose process was killed: puts
// the old model back, or removes it if the new one is complete. write_model()
// starts with this; call it before looking at what the folder holds.
void recover_model(const std::string& folder);

// What a folder holds, before a model in it is read or replaced.

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
