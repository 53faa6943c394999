#include "gradient_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "headwise/heads/attribution_target.h"
#include "operation/option_errors.h"
#include "shell/models/label_text.h"
#include "shell/models/read_model.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

// The number of the label that --target names; none if it was not given.
Result<std::optional<std::size_t>> find_label(
    const std::string& label, const std::optional<LabelProbe>& probe) {
  if (label.empty()) {
    return std::optional<std::size_t>();
  }
  if (!probe) {
    return bad_option("--target", label,
                      "none: the model has no classifier, so gradients are of "
                      "the length of its embedding");
  }
  const auto found = std::ranges::find(probe->labels(), label);
  if (found == probe->labels().end()) {
    return bad_option(
        "--target", label,
        message("one of the labels {}", labels_text(probe->labels())));
  }
  return std::optional(
      static_cast<std::size_t>(found - probe->labels().begin()));
}

// The token that --target names; none if it was not given.
Result<std::optional<TokenId>> find_token(const std::string& token,
                                          const LanguageModel& model) {
  if (token.empty()) {
    return std::optional<TokenId>();
  }
  const auto found = model.find(token);
  if (!found) {
    return option_error("--target", message("is {}", label_text(token)),
                        "a token of the model's vocabulary");
  }
  return found;
}

Error outputs_overflow() {
  return option_error("--model", "gives outputs that are NaN or infinite",
                      "finite outputs", ErrorCode::bad_data);
}

// Of a target, by the name of the option.
Error error_of_target(const Error& error) {
  return error.code() == ErrorCode::bad_data &&
                 error.details().argument == "model"
             ? outputs_overflow()
             : error;
}

}  // namespace

Result<GradientTarget> GradientTarget::read(const AttributionFlags& flags,
                                            const ViewedHeads& heads) {
  const ViewedText& text = heads.text();
  if (!text.token_types.empty()) {
    return usage_error(
        message("--pair cannot be used with --attribution {}", flags.name));
  }
  const Executor& executor = *heads.options().executor;
  GradientTarget target;
  HEADWISE_TRY(is_language_model(*text.model)
                   ? target.read_language(flags, text, executor)
                   : target.read_sentences(flags, text, executor));
  HEADWISE_ASSIGN(const auto value,
                  target.target().value(target.ids(), {}, executor));
  if (!std::isfinite(value)) {
    return outputs_overflow();
  }
  target.of_.value = value;
  return target;
}

Status GradientTarget::read_sentences(const AttributionFlags& flags,
                                      const ViewedText& text,
                                      const Executor& executor) {
  if (flags.output_token) {
    return bad_option("--output-token", std::to_string(*flags.output_token),
                      "none: gradients of this model are of its whole text");
  }
  HEADWISE_ASSIGN(auto read, read_classifier(*text.model));
  sentences_ = std::make_unique<SentenceClassifier>(std::move(read));
  const auto& [encoder, probe] = *sentences_;
  HEADWISE_ASSIGN(const auto label, find_label(flags.target, probe));
  HEADWISE_ASSIGN(auto encoded,
                  encoder.encode_text(*text.text, text.max_tokens));
  ids_ = std::move(encoded.ids);
  auto target =
      probe ? EmbeddingTarget::label(encoder, *probe, ids_, label, executor)
            : EmbeddingTarget::length(encoder, ids_, executor);
  if (!target) {
    return error_of_target(target.error());
  }
  if (target->label_number()) {
    of_.label = probe->labels()[*target->label_number()];
  }
  target_ = std::make_unique<EmbeddingTarget>(*std::move(target));
  return ok();
}

Status GradientTarget::read_language(const AttributionFlags& flags,
                                     const ViewedText& text,
                                     const Executor& executor) {
  HEADWISE_ASSIGN(language_,
                  cli::read_language(*text.model, {.use = ModelUse::training}));
  HEADWISE_ASSIGN(const auto token, find_token(flags.target, *language_));
  HEADWISE_ASSIGN(const auto position, output_token(flags, text));
  HEADWISE_ASSIGN(auto encoded, language_->encode(*text.text, text.max_tokens));
  ids_ = std::move(encoded.ids);
  auto target = TokenTarget::create(
      *language_, ids_, {.position = position, .token = token}, executor);
  if (!target) {
    return error_of_target(target.error());
  }
  of_.token = language_->label(target->token());
  of_.output_token = target->position();
  target_ = std::make_unique<TokenTarget>(*std::move(target));
  return ok();
}

}  // namespace headwise::cli
