// The heads of a text in a model of BERT's family.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "headwise/models/sentence_encoder.h"
#include "headwise/models/utf8.h"
#include "headwise/run/executor.h"
#include "operation/option_errors.h"
#include "shell/outcome.h"
#include "shell/read_model.h"
#include "shell/read_text.h"
#include "shell/say.h"
#include "shell/threads.h"
#include "viewed_heads.h"

namespace headwise::cli {
namespace {

class ViewedSentence : public ViewedHeads {
 public:
  ViewedSentence(SentenceEncoder model, Executor executor)
      : model_(std::move(model)), executor_(std::move(executor)) {}

  // Errors: those of WordPiece::encode(), out_of_memory, of --layers.
  Status read(const ViewedFlags& flags, std::string text);

  AttentionOptions options() const override {
    AttentionOptions options;
    options.executor = &executor_;
    return options;
  }
  OperationOptions operation_options() const override {
    return {.statistics = {.separators = separators_}};
  }

  Status visit(bool steps, const SeeLayer& see) const override;

 private:
  // Errors: invalid_argument for --max-tokens.
  Status set_limit(const ViewedFlags& flags);
  Status see_layer(std::size_t number, TensorView<const float, 3> hidden,
                   bool steps, const SeeLayer& see) const;

  SentenceEncoder model_;
  Executor executor_;
  RaggedTokens ids_;  // one sequence
  Tensor<bool, 2> separators_;
};

Status ViewedSentence::set_limit(const ViewedFlags& flags) {
  constexpr std::size_t kFewest = 2;  // [CLS] and [SEP]
  const ModelSettings& settings = model_.settings();
  text_.most_tokens = settings.config.max_positions;
  text_.max_tokens = flags.max_tokens.value_or(settings.max_tokens);
  text_.max_tokens_from = flags.max_tokens
                              ? "--max-tokens"
                              : say({"{} of {}", "{1}의 {0}"},
                                    settings.max_tokens_key, flags.model);
  if (text_.max_tokens < kFewest || text_.max_tokens > text_.most_tokens) {
    return bad_option("--max-tokens", std::to_string(text_.max_tokens),
                      fmt::format("{} to {}, the positions of {}", kFewest,
                                  text_.most_tokens, flags.model));
  }
  return ok();
}

Status ViewedSentence::read(const ViewedFlags& flags, std::string text) {
  const ModelSettings& settings = model_.settings();
  auto layers = parse_layers(flags.layers, settings.config.num_layers);
  HEADWISE_TRY(layers);
  layers_ = *std::move(layers);
  HEADWISE_TRY(set_limit(flags));
  auto encoded = model_.tokenizer().encode(text, text_.max_tokens);
  HEADWISE_TRY(encoded);
  auto separators = Tensor<bool, 2>::create({1, encoded->ids.size()});
  HEADWISE_TRY(separators);
  separators_ = *std::move(separators);
  for (std::size_t t = 0; t < encoded->ids.size(); ++t) {
    text_.query_labels.emplace_back(
        model_.tokenizer().vocabulary().token(encoded->ids[t]));
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
  KeptHeads kept = kept_heads(model_.settings().config, number);
  if (kept.none()) {
    return see({.number = number, .heads = std::move(kept)});
  }
  const MultiHeadAttention& attention =
      model_.encoder().layers()[number].attention;
  const auto query =
      attention.params()->w_q.forward(hidden, "hidden", executor_);
  const auto key = attention.params()->w_k.forward(hidden, "hidden", executor_);
  HEADWISE_TRY(query);
  HEADWISE_TRY(key);
  Trace trace;
  if (steps) {
    trace.on_step("hidden", std::to_array<std::string_view>({"B", "L", "E"}),
                  hidden);
    AttentionOptions plain;
    plain.executor = &executor_;
    HEADWISE_TRY(attention.forward(hidden, hidden, hidden, plain, {}, &trace));
  }
  const MultiHeadAttentionConfig& config = attention.config();
  const auto heads_of = [&](const Tensor<float, 3>& x, std::size_t heads) {
    return TensorView<const float, 4>(
        x.data(), {1, hidden.extent(1), heads, *config.head_dim});
  };
  return see({.number = number,
              .heads = std::move(kept),
              .query = heads_of(*query, config.num_heads),
              .key = heads_of(*key, *config.num_kv_heads),
              .steps = trace.steps()});
}

Status ViewedSentence::visit(bool steps, const SeeLayer& see) const {
  BertOptions options;
  options.before_layer = layers_.back() + 1;
  options.executor = &executor_;
  options.before_each = [&](std::size_t number,
                            TensorView<const float, 3> hidden) {
    const bool wanted = std::ranges::find(layers_, number) != layers_.end();
    return wanted ? see_layer(number, hidden, steps, see) : ok();
  };
  const auto done = model_.encoder().forward(ids_, options);
  return done ? ok() : Status(done.error());
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
  auto model = read_model(flags.model);
  HEADWISE_TRY(model);
  auto seen =
      std::make_unique<ViewedSentence>(*std::move(model), *std::move(executor));
  HEADWISE_TRY(seen->read(flags, std::move(text)));
  std::unique_ptr<ViewedHeads> heads = std::move(seen);
  return heads;
}

}  // namespace headwise::cli
