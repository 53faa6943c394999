#include "explain_model.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "headwise/models/sentence_encoder.h"
#include "headwise/run/executor.h"
#include "headwise/steps/scores.h"
#include "shell/models/read_model.h"
#include "shell/outcome.h"
#include "shell/terminal_text.h"
#include "shell/threads.h"

namespace headwise::cli {
namespace {

// The options that a model's layer can have.
constexpr OptionRule kModelRules[] = {
    {"--model", OptionRule::only,
     "--model|SENTENCE|--layer|--threads|--shapes-only|--step|--json|--lang|"
     "--out|--picture",
     "the model folder defines the layers and masks, and the text gives the "
     "tokens"}};

Status check_options(const ExplainFlags& flags) {
  if (flags.model.empty()) {
    return usage_error(
        message("unexpected argument \"{}\": a sentence needs --model DIR",
                cut_to(shown(*flags.sentence), 60)));
  }
  HEADWISE_TRY(flags.line.check(kModelRules));
  if (!flags.sentence) {
    return option_error("--model", "has no sentence",
                        "one: headwise explain --model DIR \"a sentence\"");
  }
  return ok();
}

HiddenStates hidden_states(const TransformerShape& shape, std::size_t layer) {
  return {.layer = layer,
          .scale = shape.embedding_scale,
          .positions = shape.has_position_table,
          .token_types = shape.token_types != 0,
          .embedding_norm = shape.has_embedding_norm,
          .projected = shape.projects_embeddings,
          .attention_norm =
              shape.attention_norm_from.value_or(~std::size_t{0}) <= layer,
          .norm = shape.norm_kind};
}

Result<ExplainedSentence> sentence_of(const ExplainFlags& flags,
                                      const SentenceEncoder& model) {
  const ModelSettings& settings = model.settings();
  ExplainedSentence sentence{
      .text = *flags.sentence,
      .model = flags.model,
      .layer = flags.layer.number.value_or(0),
      .num_layers = settings.shape.num_layers,
      .hidden = hidden_states(settings.shape, flags.layer.number.value_or(0)),
      .max_tokens = settings.max_tokens};
  if (sentence.layer >= sentence.num_layers) {
    return option_error(
        "--layer", message("is {}", sentence.layer),
        message(sentence.num_layers == 1 ? "0 to {}: {} has {} layer"
                                         : "0 to {}: {} has {} layers",
                sentence.num_layers - 1, sentence.model, sentence.num_layers));
  }
  HEADWISE_ASSIGN(const auto encoded,
                  model.encode_text(sentence.text, settings.max_tokens));
  sentence.cut = encoded.cut;
  for (std::size_t t = 0; t < encoded.ids.size(); ++t) {
    const TokenId id = encoded.ids[t];
    sentence.tokens.push_back(
        {id, std::string(model.tokenizer().token(id).value_or("")),
         encoded.offsets[t].begin, encoded.offsets[t].end});
  }
  return sentence;
}

// Everything that is known without computing.
ExplainedJob describe(const SentenceEncoder& model,
                      const MultiHeadAttention& attention,
                      ExplainedSentence sentence) {
  const MultiHeadAttentionConfig& config = attention.config();
  ExplainedJob job;
  job.biased = biased_projections(*attention.params());
  job.batch = 1;
  job.query_length = sentence.tokens.size();
  job.key_length = job.query_length;
  job.vocab_size = model.settings().shape.vocab_size;
  job.embed_dim = config.embed_dim;
  job.num_heads = config.num_heads;
  job.num_kv_heads = *config.num_kv_heads;
  job.scale = default_scale(*config.head_dim);
  job.query_ids.emplace_back();
  for (const ExplainedToken& token : sentence.tokens) {
    job.query_ids.front().push_back(token.id);
  }
  job.key_ids = job.query_ids;
  job.sentence = std::move(sentence);
  return job;
}

std::vector<TracedStep> shapes(const ExplainedJob& job,
                               const MultiHeadAttentionConfig& config) {
  return list_steps({.from_hidden = true,
                     .B = 1,
                     .Lq = job.query_length,
                     .Lkv = job.key_length,
                     .num_heads = job.num_heads,
                     .head_dim = *config.head_dim,
                     .v_head_dim = *config.v_head_dim,
                     .embed_dim = job.embed_dim,
                     .num_kv_heads = job.num_kv_heads});
}

// The steps of the layer in a pass of the model, and the scale of its scores.
Status run(ExplainedJob& job, const Transformer& model,
           const Executor& executor) {
  const std::size_t layer = job.sentence->layer;
  Trace trace;
  ModelPass pass{.before_layer = layer + 1, .executor = &executor};
  pass.before_each = [&](std::size_t n, TensorView<const float, 3> hidden) {
    if (n == layer) {
      trace.on_step("hidden", std::to_array<std::string_view>({"B", "L", "E"}),
                    hidden);
    }
    return ok();
  };
  pass.hooks.see_inputs = [&](HookPlace at, const HookedHeads& heads) {
    if (at.layer == layer) {
      job.scale = heads.options.scale.value_or(job.scale);
    }
    return ok();
  };
  pass.hooks.trace = [&](std::size_t n) {
    return n == layer ? &trace : nullptr;
  };
  HEADWISE_TRY(model.hidden(job.query_ids, pass));
  job.steps = {trace.steps().begin(), trace.steps().end()};
  return ok();
}

}  // namespace

Result<ExplainedJob> run_model_job(const ExplainFlags& flags) {
  HEADWISE_TRY(check_options(flags));
  HEADWISE_ASSIGN(const auto executor, executor_with(flags.operation.threads));
  HEADWISE_ASSIGN(const auto model, read_model(flags.model));
  HEADWISE_ASSIGN(auto sentence, sentence_of(flags, model));
  const MultiHeadAttention& attention =
      model.encoder().attention(sentence.layer);
  ExplainedJob job = describe(model, attention, std::move(sentence));
  if (flags.shapes_only) {
    job.steps = shapes(job, attention.config());
    return job;
  }
  HEADWISE_TRY(run(job, model.encoder(), executor));
  return job;
}

}  // namespace headwise::cli
