// A model's folder written anew, with other parameters:
//
//   model.safetensors       the source's tensors; those in `params` in place of
//                           them; which heads were kept in its metadata
//   classifier.safetensors  `probe`, or where there is none the source's
//   *.json, *.txt           as in the source and its folders (the settings, the
//                           vocabulary, the tokenizer)
//
// So what is not changed has the source's bytes, tensors that are not read
// (such as BERT's pooler) included. model.safetensors is written last, whole or
// not at all; files of other names in `folder` stay.
//
// Errors: io_error; bad_data for a source that cannot be read; invalid_argument
// where both folders are one, or a parameter has a name that the source has
// not; out_of_memory.
//
// Example:
//   Status s = write_model("model", "pruned",
//                          {.params = encoder.attention_params(),
//                           .config = &encoder.config()});
#pragma once

#include <map>
#include <string>

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
};

Status write_model(const std::string& source, const std::string& folder,
                   const ModelChanges& changes);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
