#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "heads/finite_outputs.h"
#include "headwise/heads/attribution_target.h"
#include "headwise/models/text_model.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kEmbeddingTarget = "embedding_target";

// The embedding of a text from its hidden states.
std::vector<float> pooled(const SentenceEncoder& encoder,
                          TensorView<const float, 2> hidden, bool normalize) {
  std::vector<float> embedding(encoder.embedding_size());
  encoder.embed(hidden, normalize, embedding);
  return embedding;
}

Result<std::vector<float>> embedding_of(const SentenceEncoder& encoder,
                                        const std::vector<TokenId>& text,
                                        bool normalize, HeadGateSpan gates,
                                        const Executor& executor) {
  HEADWISE_TRY(check_at_least_one(kEmbeddingTarget, "text", text.size()));
  HEADWISE_ASSIGN(const auto done,
                  encoder.encoder().hidden(
                      {text}, {.head_gates = gates, .executor = &executor}));
  return pooled(encoder, done.view(), normalize);
}

double embedding_dot(std::span<const float> x, std::span<const float> y) {
  double sum = 0;
  for (std::size_t e = 0; e < x.size(); ++e) {
    sum += static_cast<double>(x[e]) * static_cast<double>(y[e]);
  }
  return sum;
}

}  // namespace

Result<EmbeddingTarget> EmbeddingTarget::label(const SentenceEncoder& encoder,
                                               const LabelProbe& probe,
                                               const std::vector<TokenId>& text,
                                               std::optional<std::size_t> label,
                                               const Executor& executor) {
  return catching_out_of_memory([&]() -> Result<EmbeddingTarget> {
    const std::size_t labels = probe.labels().size();
    if (label.value_or(0) >= labels) {
      return value_error(kEmbeddingTarget, "label", std::to_string(*label),
                         message("less than {}", labels),
                         ErrorCode::out_of_range);
    }
    if (!label) {
      HEADWISE_ASSIGN(const auto embedding,
                      embedding_of(encoder, text, encoder.settings().normalize,
                                   {}, executor));
      HEADWISE_ASSIGN(const auto logits,
                      probe.logits({embedding.data(), {1, embedding.size()}}));
      HEADWISE_TRY(check_finite_outputs(
          kEmbeddingTarget, "model", logits.elements(), ErrorCode::bad_data));
      label = predicted_label(logits, 0);
    }
    const auto weight = probe.linear().weight();
    std::vector<float> direction(weight.extent(1));
    for (std::size_t e = 0; e < direction.size(); ++e) {
      direction[e] = weight(*label, e);
    }
    return EmbeddingTarget(encoder, std::move(direction),
                           static_cast<double>(probe.linear().bias()(*label)),
                           label);
  });
}

Result<EmbeddingTarget> EmbeddingTarget::length(
    const SentenceEncoder& encoder, const std::vector<TokenId>& text,
    const Executor& executor) {
  return catching_out_of_memory([&]() -> Result<EmbeddingTarget> {
    HEADWISE_ASSIGN(
        auto direction,
        embedding_of(encoder, text, /*normalize=*/false, {}, executor));
    HEADWISE_TRY(check_finite_outputs(kEmbeddingTarget, "model", direction,
                                      ErrorCode::bad_data));
    const double norm = std::sqrt(embedding_dot(direction, direction));
    for (float& x : direction) {
      x = static_cast<float>(static_cast<double>(x) / norm);
    }
    return EmbeddingTarget(encoder, std::move(direction), 0, std::nullopt);
  });
}

bool EmbeddingTarget::normalizes() const {
  return label_ && encoder_->settings().normalize;
}

std::vector<std::vector<std::size_t>> EmbeddingTarget::all_heads() const {
  return heads_left(encoder_->encoder());
}

const MultiHeadAttention& EmbeddingTarget::attention(std::size_t layer) const {
  return encoder_->encoder().attention(layer);
}

Result<double> EmbeddingTarget::compute(const std::vector<TokenId>& text,
                                        HeadGateSpan gates,
                                        const Executor& executor) const {
  return catching_out_of_memory([&]() -> Result<double> {
    HEADWISE_ASSIGN(
        const auto embedding,
        embedding_of(*encoder_, text, normalizes(), gates, executor));
    return embedding_dot(direction_, embedding) + bias_;
  });
}

Result<std::vector<Tensor<float, 2>>> EmbeddingTarget::compute_gradients(
    const std::vector<TokenId>& text, HeadGateSpan gates,
    const ModelHooks& hooks, const Executor& executor) const {
  return catching_out_of_memory([&]() -> Result<std::vector<Tensor<float, 2>>> {
    HEADWISE_TRY(check_at_least_one(kEmbeddingTarget, "text", text.size()));
    const Transformer& encoder = encoder_->encoder();
    HEADWISE_ASSIGN(auto saved, encoder.forward_for_backward(
                                    {text}, {.head_gates = gates,
                                             .hooks = hooks,
                                             .executor = &executor}));
    const auto hidden = saved.hidden();
    HEADWISE_ASSIGN(auto d_hidden,
                    Tensor<float, 2>::create_unset(hidden.extents()));
    encoder_->embed_backward(hidden, normalizes(), direction_, d_hidden);
    HEADWISE_ASSIGN(auto gradients,
                    encoder.backward(saved, d_hidden, ModelWanted::gates));
    return std::move(gradients.head_gates);
  });
}

}  // namespace headwise::inline HEADWISE_ABI
