#include "headwise/heads/embedding_target.h"

#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/heads/projected_heads.h"
#include "models/pooling.h"
#include "run/float_environment.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOperation = "embedding_target";

// The embedding of a text from its hidden states.
std::vector<float> pooled(const SentenceEncoder& encoder,
                          TensorView<const float, 2> hidden, bool normalize) {
  std::vector<float> embedding(encoder.embedding_size());
  const FloatEnvironment environment;
  pool(hidden, encoder.settings().pooling, normalize, embedding.data());
  return embedding;
}

Result<std::vector<float>> embedding_of(const SentenceEncoder& encoder,
                                        const std::vector<TokenId>& text,
                                        bool normalize,
                                        std::span<const Tensor<float, 1>> gates,
                                        const Executor& executor) {
  HEADWISE_TRY(check_at_least_one(kOperation, "text", text.size()));
  const auto done = encoder.encoder().forward(
      {text}, {.head_gates = gates, .executor = &executor});
  HEADWISE_TRY(done);
  return pooled(encoder, done->hidden, normalize);
}

double dot(std::span<const float> x, std::span<const float> y) {
  double sum = 0;
  for (std::size_t e = 0; e < x.size(); ++e) {
    sum += static_cast<double>(x[e]) * static_cast<double>(y[e]);
  }
  return sum;
}

// What each layer is given.
Result<std::vector<Tensor<float, 3>>> inputs_of(
    const BertEncoder& encoder, const std::vector<TokenId>& text,
    const Executor& executor) {
  std::vector<Tensor<float, 3>> inputs;
  const auto keep = [&](std::size_t, TensorView<const float, 3> hidden) {
    auto copy = Tensor<float, 3>::create_unset(hidden.extents());
    if (!copy) {
      return Status(copy.error());
    }
    for (std::size_t t = 0; t < hidden.extent(1); ++t) {
      for (std::size_t e = 0; e < hidden.extent(2); ++e) {
        (*copy)(0, t, e) = hidden(0, t, e);
      }
    }
    inputs.push_back(*std::move(copy));
    return ok();
  };
  const auto done =
      encoder.forward({text}, {.before_each = keep, .executor = &executor});
  return done ? Result<std::vector<Tensor<float, 3>>>(std::move(inputs))
              : done.error();
}

Result<GradientAttention> in_layer(const MultiHeadAttention& attention,
                                   const Tensor<float, 3>& input,
                                   TensorView<const float, 4> d_context,
                                   const Executor& executor) {
  const auto heads = ProjectedHeads::of(attention, input, executor);
  HEADWISE_TRY(heads);
  const auto value =
      attention.params()->w_v->forward(input, "hidden", executor);
  HEADWISE_TRY(value);
  const std::size_t L = input.extent(1);
  const TensorView<const float, 4> values(
      value->data(),
      {1, L, attention.config().num_heads, *attention.config().v_head_dim});
  AttentionOptions options;
  options.executor = &executor;
  return gradient_attention({heads->query(0, L), heads->key(0, L), values},
                            d_context, options);
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
      return value_error(kOperation, "label", std::to_string(*label),
                         "less than " + std::to_string(labels),
                         ErrorCode::out_of_range);
    }
    if (!label) {
      const auto embedding = embedding_of(
          encoder, text, encoder.settings().normalize, {}, executor);
      HEADWISE_TRY(embedding);
      const auto logits =
          probe.logits({embedding->data(), {1, embedding->size()}});
      HEADWISE_TRY(logits);
      label = predicted_label(*logits, 0);
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
    auto direction =
        embedding_of(encoder, text, /*normalize=*/false, {}, executor);
    HEADWISE_TRY(direction);
    const double norm = std::sqrt(dot(*direction, *direction));
    for (float& x : *direction) {
      x = static_cast<float>(static_cast<double>(x) / norm);
    }
    return EmbeddingTarget(encoder, *std::move(direction), 0, std::nullopt);
  });
}

bool EmbeddingTarget::normalizes() const {
  return label_ && encoder_->settings().normalize;
}

Result<double> EmbeddingTarget::value(const std::vector<TokenId>& text,
                                      std::span<const Tensor<float, 1>> gates,
                                      const Executor& executor) const {
  return catching_out_of_memory([&]() -> Result<double> {
    const auto embedding =
        embedding_of(*encoder_, text, normalizes(), gates, executor);
    HEADWISE_TRY(embedding);
    return dot(direction_, *embedding) + bias_;
  });
}

Result<std::vector<Tensor<float, 2>>> EmbeddingTarget::differentiate(
    const std::vector<TokenId>& text, const BertOptions& options) const {
  return catching_out_of_memory([&]() -> Result<std::vector<Tensor<float, 2>>> {
    HEADWISE_TRY(check_at_least_one(kOperation, "text", text.size()));
    const BertEncoder& encoder = encoder_->encoder();
    auto saved = encoder.forward_for_backward({text}, options);
    HEADWISE_TRY(saved);
    const auto hidden = saved->hidden();
    auto d_hidden = Tensor<float, 2>::create_unset(hidden.extents());
    HEADWISE_TRY(d_hidden);
    {
      const FloatEnvironment environment;
      pool_backward(hidden, encoder_->settings().pooling, normalizes(),
                    direction_.data(), *d_hidden);
    }
    auto gradients = encoder.backward(*saved, *d_hidden, BertWanted::gates);
    HEADWISE_TRY(gradients);
    return std::move(gradients->head_gates);
  });
}

GatedModel EmbeddingTarget::gated(const std::vector<TokenId>& text,
                                  const Executor& executor) const {
  GatedModel model;
  const BertEncoder& encoder = encoder_->encoder();
  for (std::size_t n = 0; n < encoder.layers().size(); ++n) {
    model.heads.push_back(heads_in(encoder.config(), n));
  }
  model.examples = 1;
  model.losses = [this, text, &executor](
                     std::size_t, std::size_t,
                     HeadGateSpan gates) -> Result<std::vector<double>> {
    const auto loss = value(text, gates, executor);
    HEADWISE_TRY(loss);
    return std::vector<double>{*loss};
  };
  model.gradients = [this, text, &executor](std::size_t, std::size_t,
                                            HeadGateSpan gates) {
    return differentiate(text, {.head_gates = gates, .executor = &executor});
  };
  return model;
}

Result<std::vector<GradientAttention>> EmbeddingTarget::gradient_attention_of(
    const std::vector<TokenId>& text, const Executor& executor) const {
  return catching_out_of_memory(
      [&]() -> Result<std::vector<GradientAttention>> {
        const BertEncoder& encoder = encoder_->encoder();
        HEADWISE_TRY(check_at_least_one(kOperation, "text", text.size()));
        const auto inputs = inputs_of(encoder, text, executor);
        HEADWISE_TRY(inputs);
        std::vector<GradientAttention> layers(encoder.layers().size());
        BertOptions options;
        options.executor = &executor;
        options.hooks.see_gradient =
            [&](std::size_t n, TensorView<const float, 4> d_context) -> Status {
          auto done = in_layer(encoder.layers()[n].attention, (*inputs)[n],
                               d_context, executor);
          HEADWISE_TRY(done);
          layers[n] = *std::move(done);
          return ok();
        };
        const auto done = differentiate(text, options);
        HEADWISE_TRY(done);
        return layers;
      });
}

}  // namespace headwise::inline HEADWISE_ABI
