// A model folder that a command was given, as --model unless another option is
// named. Errors of the library's readers begin with the option.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/models/label_probe.h"
#include "headwise/models/language_model.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/models/text_model.h"
#include "headwise/train/sentence_classifier.h"

namespace headwise::cli {

// Errors: io_error for a folder that is missing; the message says how to get
// one. `option` names it.
Status check_model_folder(const std::string& folder,
                          std::string_view option = "--model");

// Errors: those of check_model_folder() and SentenceEncoder::read().
Result<SentenceEncoder> read_model(const std::string& folder,
                                   const ModelAccess& access = {});
// The same for read_text_model().
Result<std::unique_ptr<TextModel>> read_any_model(
    const std::string& folder, std::string_view option = "--model");
// The same for read_any_text_model().
Result<std::unique_ptr<TextModel>> read_viewed_model(const std::string& folder);
// The encoder of an encoder-decoder; invalid_argument, about --part, for
// another model.
Result<std::unique_ptr<TextModel>> read_encoder_alone(
    const std::string& folder);
// The same for read_language_model().
Result<std::unique_ptr<LanguageModel>> read_language(
    const std::string& folder, const ModelAccess& access = {});
// The classifier, if there is one, of a folder whose encoder was read. Errors:
// those of LabelProbe::read().
Result<std::optional<LabelProbe>> read_any_probe(
    const std::string& folder, const SentenceEncoder& encoder);
// The same; bad_data for a folder without one.
Result<LabelProbe> read_probe(const std::string& folder,
                              const SentenceEncoder& encoder);
// As read_model(), for SentenceClassifier::read().
Result<SentenceClassifier> read_classifier(const std::string& folder);

}  // namespace headwise::cli
