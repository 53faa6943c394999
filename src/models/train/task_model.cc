#include "train/task_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "headwise/module/optimizer.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kClassifier = "classifier";
constexpr std::uint32_t kClassifierStream = 6;  // after those of the layer

bool is_finite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float x) { return std::isfinite(x); });
}

void add_to(Tensor<float, 3>& sum, const Tensor<float, 3>& term) {
  for (std::size_t n = 0; n < sum.size(); ++n) {
    sum.data()[n] += term.data()[n];
  }
}

template <std::size_t Rank>
void push(std::vector<ParamGradient>& gradients, std::string name,
          Tensor<float, Rank> gradient) {
  const std::size_t size = gradient.size();
  if (size != 0) {
    gradients.push_back({std::move(name),
                         std::move(gradient).template with_extents<1>({size})});
  }
}

void push(std::vector<ParamGradient>& gradients, std::string_view name,
          LinearGradients gradient) {
  push(gradients, std::string(name) + ".weight", std::move(gradient.weight));
  push(gradients, std::string(name) + ".bias", std::move(gradient.bias));
}

TensorView<const float, 2> rows_of(const Tensor<float, 3>& logits) {
  const auto [B, L, C] = logits.extents();
  return {logits.data(), {B * L, C}};
}

}  // namespace

struct TaskModel::Inputs {
  Tensor<float, 3> embedded;         // of the tokens
  Tensor<float, 3> target_embedded;  // of the target tokens, where there are

  TensorView<const float, 3> query() const {
    return target_embedded.size() != 0 ? target_embedded : key();
  }
  TensorView<const float, 3> key() const { return embedded.view(); }
};

Result<TaskModel> TaskModel::create(const TaskModelConfig& config, Seed seed) {
  HEADWISE_ASSIGN(auto embedding,
                  Embedding::create({kTaskVocabSize, config.embed_dim}, seed));
  // All scores 0 are the same with any scoring: options() gives dot products a
  // scale of 0.
  HEADWISE_ASSIGN(auto layer, MultiHeadAttention::create(
                                  {.embed_dim = config.embed_dim,
                                   .num_heads = config.num_heads,
                                   .scoring = config.uniform ? Scoring::dot
                                                             : config.scoring,
                                   .arithmetic = config.arithmetic},
                                  seed));
  HEADWISE_ASSIGN(auto classifier,
                  Linear::create({config.embed_dim, kTaskClasses},
                                 RandomStream(seed, kClassifierStream)));
  return TaskModel(config, std::move(embedding), std::move(layer),
                   std::move(classifier));
}

AttentionOptions TaskModel::options(const Executor& executor) const {
  AttentionOptions options;
  if (config_.uniform) {
    options.scale = 0;
  }
  options.executor = &executor;
  return options;
}

Result<TaskModel::Inputs> TaskModel::embed(const TaskBatch& batch) const {
  HEADWISE_ASSIGN(auto embedded, embedding_.forward(batch.tokens));
  Inputs inputs{std::move(embedded), {}};
  if (batch.target_tokens.size() != 0) {
    HEADWISE_ASSIGN(inputs.target_embedded,
                    embedding_.forward(batch.target_tokens));
  }
  return inputs;
}

// One table embeds all tokens, so the gradients of query, key and value add up
// in it.
Result<ParamGradient> TaskModel::embedding_gradient(
    const TaskBatch& batch, MultiHeadAttentionGradients gradients) const {
  Tensor<float, 3> by_tokens = std::move(gradients.key);
  add_to(by_tokens, gradients.value);
  const bool cross = batch.target_tokens.size() != 0;
  if (!cross) {
    add_to(by_tokens, gradients.query);
  }
  HEADWISE_ASSIGN(auto sum, embedding_.backward(batch.tokens, by_tokens));
  if (cross) {
    HEADWISE_ASSIGN(const auto by_targets,
                    embedding_.backward(batch.target_tokens, gradients.query));
    for (std::size_t n = 0; n < sum.size(); ++n) {
      sum.data()[n] += by_targets.data()[n];
    }
  }
  const std::size_t size = sum.size();
  return ParamGradient{"embedding.weight",
                       std::move(sum).with_extents<1>({size})};
}

Result<TaskGradients> TaskModel::differentiate(const TaskBatch& batch,
                                               const Executor& executor) const {
  HEADWISE_ASSIGN(const auto inputs, embed(batch));
  const AttentionOptions attention = options(executor);
  HEADWISE_ASSIGN(auto saved,
                  layer_.forward_for_backward(inputs.query(), inputs.key(),
                                              inputs.key(), attention));
  const Tensor<float, 3>& output = saved.result().output;
  HEADWISE_ASSIGN(const auto logits,
                  classifier_.forward(output, "output", executor));
  HEADWISE_ASSIGN(const auto loss,
                  cross_entropy(rows_of(logits), batch.answers));
  if (!std::isfinite(loss.loss)) {
    const std::string first = !is_finite(output.elements())   ? "output"
                              : !is_finite(logits.elements()) ? "logits"
                                                              : "loss";
    return Error{
        ErrorCode::out_of_range,
        {.given = message(
             "the loss is {}, and the first value that is not finite is the {}",
             number_text(loss.loss), first)}};
  }
  const TensorView<const float, 3> d_logits(loss.d_logits.data(),
                                            logits.extents());
  HEADWISE_ASSIGN(auto d_classifier,
                  classifier_.backward_params(output, d_logits, {}, executor));
  HEADWISE_ASSIGN(const auto d_output,
                  classifier_.backward_input(d_logits, "d_logits", executor));
  HEADWISE_ASSIGN(auto by_layer, layer_.backward(saved, d_output));
  TaskGradients result{loss.loss, {}};
  push(result.params, kClassifier, std::move(d_classifier));
  push(result.params, "w_o", *std::move(by_layer.w_o));
  push(result.params, "w_q", std::move(by_layer.w_q));
  push(result.params, "w_k", std::move(by_layer.w_k));
  push(result.params, "w_v", std::move(by_layer.w_v));
  push(result.params, "w_score.weight", std::move(by_layer.w_score));
  HEADWISE_ASSIGN(auto by_embedding,
                  embedding_gradient(batch, std::move(by_layer)));
  result.params.push_back(std::move(by_embedding));
  return result;
}

Result<TaskAnswers> TaskModel::answer(const TaskBatch& batch,
                                      const Executor& executor) const {
  HEADWISE_ASSIGN(const auto inputs, embed(batch));
  AttentionOptions attention = options(executor);
  attention.attn_weights = AttnWeights::per_head;
  HEADWISE_ASSIGN(
      const auto result,
      layer_.forward(inputs.query(), inputs.key(), inputs.key(), attention));
  HEADWISE_ASSIGN(const auto logits,
                  classifier_.forward(result.output, "output", executor));
  HEADWISE_ASSIGN(const auto loss,
                  cross_entropy(rows_of(logits), batch.answers));
  TaskAnswers answers{loss.loss, 0, 0, std::vector<double>(config_.num_heads)};
  const std::size_t Lq = logits.extent(1);
  for (std::size_t n = 0; n < batch.answers.size(); ++n) {
    if (batch.answers(n) == kIgnoredTarget) {
      continue;
    }
    const auto row = logits.elements().subspan(n * kTaskClasses, kTaskClasses);
    const auto best = std::ranges::max_element(row) - row.begin();
    ++answers.asked;
    answers.right += best == batch.answers(n);
    for (std::size_t h = 0; h < config_.num_heads; ++h) {
      answers.on_answer[h] +=
          result.attn_weights(n / Lq, h, n % Lq, batch.places(n));
    }
  }
  return answers;
}

Status TaskModel::update(
    FunctionRef<Status(std::string_view, std::span<float>)> change) {
  Status s = ok();
  embedding_.update(
      [&](std::span<float> weight) { s = change("embedding.weight", weight); });
  HEADWISE_TRY(s);
  HEADWISE_TRY(layer_.update(change));
  classifier_.update([&](std::span<float> weight, std::span<float> bias) {
    s = change("classifier.weight", weight);
    s = s ? change("classifier.bias", bias) : s;
  });
  return s;
}

std::map<std::string, AnyView> TaskModel::params() const {
  std::map<std::string, AnyView> params;
  params.emplace("embedding.weight", embedding_.weight());
  const auto add = [&](std::string_view name, const Linear& linear) {
    params.emplace(std::string(name) + ".weight", linear.weight());
    if (linear.has_bias()) {
      params.emplace(std::string(name) + ".bias", linear.bias());
    }
  };
  const MultiHeadAttentionParams& layer = *layer_.params();
  add("w_q", layer.w_q);
  add("w_k", layer.w_k);
  if (layer.w_v) {
    add("w_v", *layer.w_v);
  }
  if (layer.w_o) {
    add("w_o", *layer.w_o);
  }
  if (layer.w_score) {
    params.emplace("w_score.weight", *layer.w_score);
  }
  add(kClassifier, classifier_);
  return params;
}

}  // namespace headwise::inline HEADWISE_ABI
