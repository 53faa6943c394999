#include "gradient_target.h"

#include <fmt/format.h>

#include <algorithm>

#include "operation/option_errors.h"
#include "shell/label_text.h"

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
    return bad_option("--target", label,
                      "one of the labels " + labels_text(probe->labels()));
  }
  return std::optional(
      static_cast<std::size_t>(found - probe->labels().begin()));
}

}  // namespace

Result<GradientTarget> GradientTarget::read(const AttributionFlags& flags,
                                            const ViewedHeads& heads) {
  const ViewedText& text = heads.text();
  if (!text.token_types.empty()) {
    return usage_error(
        fmt::format("--pair cannot be used with --attribution {}", flags.name));
  }
  const Executor& executor = *heads.options().executor;
  if (text.causal) {
    return bad_option("--attribution", flags.name,
                      "one without gradients: they need a model of BERT's "
                      "family");
  }
  auto read = SentenceClassifier::read(*text.model);
  HEADWISE_TRY(read);
  auto model = std::make_unique<SentenceClassifier>(*std::move(read));
  const auto label = find_label(flags.target, model->probe);
  HEADWISE_TRY(label);
  auto encoded = model->encoder.tokenizer().encode(*text.text, text.max_tokens);
  HEADWISE_TRY(encoded);
  auto target =
      model->probe
          ? EmbeddingTarget::label(model->encoder, *model->probe, encoded->ids,
                                   *label, executor)
          : EmbeddingTarget::length(model->encoder, encoded->ids, executor);
  HEADWISE_TRY(target);
  return GradientTarget(std::move(model), *std::move(target),
                        std::move(encoded->ids));
}

std::optional<std::string> GradientTarget::label() const {
  return target_.label_number()
             ? std::optional(model_->probe->labels()[*target_.label_number()])
             : std::nullopt;
}

std::vector<std::size_t> GradientTarget::heads_in(std::size_t layer) const {
  return headwise::heads_in(model_->encoder.encoder().config(), layer);
}

}  // namespace headwise::cli
