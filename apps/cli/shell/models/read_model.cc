#include "read_model.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "shell/error_of_option.h"
#include "shell/outcome.h"
#include "shell/terminal_text.h"

namespace headwise::cli {
namespace {

// Says how to see a model of a family that is not read.
Error with_other_ways(const Error& error) {
  ErrorDetails details = error.details();
  if (details.entry != "model_type") {
    return error;
  }
  details.hint =
      "for models of other types use headwise.observe() in Python, or headwise "
      "view --attn-weights FILE";
  return {error.code(), std::move(details)};
}

// What a reader of the folder says, with the option in place of its name.
template <typename T>
Result<T> read_for(std::string_view option, Result<T> read) {
  if (!read) {
    return with_other_ways(error_of_option(option, read.error()));
  }
  return read;
}

bool has_file(const std::string& folder, const char* name) {
  struct stat status {};
  return ::stat(fmt::format("{}/{}", folder, name).c_str(), &status) == 0;
}

// Refuses the folder of a training task: its layer reads token ids, not texts.
Status check_no_task(const std::string& folder, std::string_view option) {
  if (has_file(folder, "config.json") || !has_file(folder, "params.npz")) {
    return ok();
  }
  const std::string run = shell_word(folder);
  return Error{ErrorCode::bad_data,
               {.argument = fmt::format("{} {}", option, run),
                .given = "holds a layer trained on generated sequences",
                .expected = "a model of texts",
                .hint = message("to see its heads: headwise explain --params "
                                "{} --tokens {}/tokens.txt",
                                run, run)}};
}

}  // namespace

Status check_model_folder(const std::string& folder, std::string_view option) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0 && errno == ENOENT) {
    return system_error(
        {.argument = fmt::format("{} {}", option, folder),
         .hint =
             message("headwise downloads nothing: fetch the folder first, such "
                     "as with huggingface-cli download OWNER/NAME --local-dir "
                     "{}, or with git clone https://huggingface.co/OWNER/NAME",
                     shell_word(folder))},
        ENOENT);
  }
  return check_no_task(folder, option);
}

Result<SentenceEncoder> read_model(const std::string& folder,
                                   const ModelAccess& access) {
  HEADWISE_TRY(check_model_folder(folder));
  return read_for("--model", SentenceEncoder::read(folder, access));
}

Result<std::unique_ptr<TextModel>> read_any_model(const std::string& folder,
                                                  std::string_view option) {
  HEADWISE_TRY(check_model_folder(folder, option));
  return read_for(option, read_text_model(folder));
}

Result<std::unique_ptr<TextModel>> read_viewed_model(
    const std::string& folder) {
  HEADWISE_TRY(check_model_folder(folder));
  return read_for("--model", read_any_text_model(folder));
}

Result<std::unique_ptr<TextModel>> read_encoder_alone(
    const std::string& folder) {
  HEADWISE_TRY(check_model_folder(folder));
  HEADWISE_ASSIGN(const auto settings,
                  read_for("--model", read_model_settings(folder)));
  if (settings.shape.encoder_layers == 0) {
    return usage_error(message("{} is for an encoder-decoder", "--part"));
  }
  return read_for("--model", read_text_model(folder));
}

Result<std::unique_ptr<LanguageModel>> read_language(
    const std::string& folder, const ModelAccess& access) {
  HEADWISE_TRY(check_model_folder(folder));
  return read_for("--model", read_language_model(folder, access));
}

Result<std::optional<LabelProbe>> read_any_probe(
    const std::string& folder, const SentenceEncoder& encoder) {
  return read_for("--model",
                  LabelProbe::read(folder, encoder.embedding_size()));
}

Result<LabelProbe> read_probe(const std::string& folder,
                              const SentenceEncoder& encoder) {
  HEADWISE_ASSIGN(auto probe, read_any_probe(folder, encoder));
  if (!probe.has_value()) {
    const std::string model = shell_word(folder);
    return Error{ErrorCode::bad_data,
                 {.argument = "--model " + model,
                  .given = "has no classifier",
                  .hint = message("train one with: headwise train --model {} "
                                  "--data examples.tsv --out DIR",
                                  model)}};
  }
  return *std::move(probe);
}

Result<SentenceClassifier> read_classifier(const std::string& folder) {
  HEADWISE_TRY(check_model_folder(folder));
  return read_for("--model", SentenceClassifier::read(folder));
}

}  // namespace headwise::cli
