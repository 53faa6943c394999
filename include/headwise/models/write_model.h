// A model's folder written anew, with other parameters:
//
//   model.safetensors       the source's tensors; those in `params` in place of
//                           them; which heads were kept in its metadata
//   classifier.safetensors  `probe`, or where there is none the source's
//   *.json, *.txt           as in the source and its folders (the settings, the
//                           vocabulary, the tokenizer)
//
// So what is not changed has the source's bytes, tensors that are not read
// (such as BERT's pooler) included. The folder is written whole beside its
// place and takes it in one step: a failure or a kill leaves the old model or
// the new one, never files of both. Files that the new model does not have go
// with the old one. A folder that holds anything but a model is refused, or
// with `keep_other_files` gets the new files one by one, config.json last.
//
// Errors: io_error; bad_data for a source that cannot be read; invalid_argument
// where `folder` is the source, lies in it or holds other files, or a parameter
// has a name that the source has not; out_of_memory.
//
// Example:
//   Status s = write_model("model", "pruned",
//                          {.params = encoder.attention_params(),
//                           .config = &encoder.config()});
#pragma once

#include <map>
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
  // By the names that BertEncoder::params() has.
  std::map<std::string, AnyView> params{};
  const BertConfig* config = nullptr;  // whose kept_heads; null: the source's
  const LabelProbe* probe = nullptr;
  // Files of the old folder that stay, such as a run's checkpoint.npz.
  std::vector<std::string> keep{};
  bool keep_other_files = false;
};

Status write_model(const std::string& source, const std::string& folder,
                   const ModelChanges& changes);

// Completes what a write_model() to `folder` had begun when its process was
// killed: puts the old model back, or removes it where the new one is there.
// write_model() itself begins with this; call it before looking at what the
// folder holds.
void recover_model(const std::string& folder);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
