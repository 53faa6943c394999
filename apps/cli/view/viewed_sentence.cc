// The heads of a text in a model.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "headwise/heads/projected_heads.h"
#include "headwise/heads/special_tokens.h"
#include "headwise/models/text_model.h"
#include "headwise/models/utf8.h"
#include "headwise/run/executor.h"
#include "operation/token_limit.h"
#include "shell/read_model.h"
#include "shell/read_text.h"
#include "shell/threads.h"
#include "viewed_heads.h"

namespace headwise::cli {
namespace {

class ViewedSentence : public ViewedHeads {
 public:
  ViewedSentence(std::unique_ptr<TextModel> model, Executor executor)
      : model_(std::move(model)), executor_(std::move(executor)) {}

  // Errors: those of TextModel::encode(), out_of_memory, of --layers.
  Status read(const ViewedFlags& flags, std::string text);

  AttentionOptions options() const override {
    AttentionOptions options;
    options.executor = &executor_;
    if (model_->shape().causal) {
      options.mask = causal();
    }
    return options;
  }
  OperationOptions operation_options() const override {
    return {.statistics = {.separators = separators_}};
  }

  Status visit(bool steps, const SeeLayer& see) const override;

 private:
  Status see_layer(std::size_t number, TensorView<const float, 3> hidden,
                   bool steps, const SeeLayer& see) const;

  std::unique_ptr<TextModel> model_;
  Executor executor_;
  RaggedTokens ids_;  // one sequence
  Tensor<bool, 2> separators_;
};

Status ViewedSentence::read(const ViewedFlags& flags, std::string text) {
  const TextModelShape& shape = model_->shape();
  auto layers = parse_layers(flags.layers, shape.num_layers);
  HEADWISE_TRY(layers);
  layers_ = *std::move(layers);
  const auto limit = token_limit(flags.max_tokens, flags.model, shape);
  HEADWISE_TRY(limit);
  text_.max_tokens = limit->tokens;
  text_.max_tokens_from = limit->from;
  text_.most_tokens = limit->most;
  text_.causal = shape.causal;
  auto encoded = model_->encode(text, text_.max_tokens);
  HEADWISE_TRY(encoded);
  auto separators = Tensor<bool, 2>::create({1, encoded->ids.size()});
  HEADWISE_TRY(separators);
  separators_ = *std::move(separators);
  for (std::size_t t = 0; t < encoded->ids.size(); ++t) {
    text_.query_labels.emplace_back(model_->token(encoded->ids[t]));
    separators_(0, t) = is_separator(text_.query_labels.back());
    if (is_special(text_.query_labels.back())) {
      text_.query_special.push_back(t);
    }
  }
  text_.key_labels = text_.query_labels;
  text_.key_special = text_.query_special;
  text_.model = flags.model;
  text_.text = std::move(text);
  text_.cut_tokens = encoded->cut;
  ids_ = {std::move(encoded->ids)};
  return ok();
}

Status ViewedSentence::see_layer(std::size_t number,
                                 TensorView<const float, 3> hidden, bool steps,
                                 const SeeLayer& see) const {
  KeptHeads kept = kept_heads(*model_, number);
  if (kept.none()) {
    return see({.number = number, .heads = std::move(kept)});
  }
  const MultiHeadAttention& attention = model_->attention(number);
  const auto projected = ProjectedHeads::of(attention, hidden, executor_);
  HEADWISE_TRY(projected);
  Trace trace;
  if (steps) {
    trace.on_step("hidden", std::to_array<std::string_view>({"B", "L", "E"}),
                  hidden);
    HEADWISE_TRY(
        attention.forward(hidden, hidden, hidden, options(), {}, &trace));
  }
  const std::size_t tokens = hidden.extent(1);
  return see({.number = number,
              .heads = std::move(kept),
              .query = projected->query(0, tokens),
              .key = projected->key(0, tokens),
              .steps = trace.steps(),
              .attention = &attention,
              .hidden = hidden});
}

Status ViewedSentence::visit(bool steps, const SeeLayer& see) const {
  return model_->run(
      ids_, {.before_layer = layers_.back() + 1,
             .before_each =
                 [&](std::size_t number, TensorView<const float, 3> hidden) {
                   const bool wanted =
                       std::ranges::find(layers_, number) != layers_.end();
                   return wanted ? see_layer(number, hidden, steps, see) : ok();
                 },
             .executor = &executor_});
}

}  // namespace

Result<std::unique_ptr<ViewedHeads>> read_viewed_sentence(
    const ViewedFlags& flags) {
  std::string text = *flags.text;
  if (text == "-") {
    auto given = read_text("text", text);
    HEADWISE_TRY(given);
    text = *std::move(given);
  }
  HEADWISE_TRY(check_utf8(
      FileSubject{"text",
                  *flags.text == "-" ? std::string(kStandardInput) : "TEXT"},
      text));
  auto executor = executor_with(flags.operation.threads);
  HEADWISE_TRY(executor);
  auto model = read_any_model(flags.model);
  HEADWISE_TRY(model);
  auto seen =
      std::make_unique<ViewedSentence>(*std::move(model), *std::move(executor));
  HEADWISE_TRY(seen->read(flags, std::move(text)));
  std::unique_ptr<ViewedHeads> heads = std::move(seen);
  return heads;
}

}  // namespace headwise::cli
