// A number F that a model gives for a text, which attributions divide among the
// heads and tokens: of an embedding (EmbeddingTarget) or of the next token
// (TokenTarget).
//
// Example:
//   auto target = TokenTarget::create(model, ids).value();
//   target.value(ids, {}).value();
//   auto parts = integrated_gates(target.gated(ids), 0).value();
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/heads/gradient_attention.h"
#include "headwise/models/label_probe.h"
#include "headwise/models/language_model.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/prune/importance.h"
#include "headwise/run/executor.h"
#include "headwise/steps/head_gates.h"
#include "headwise/steps/tokens.h"
#include "headwise/transformer/model_pass.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// What gradient_attention() and gradient_attention_map() take of a layer.
struct GradientLayer {
  std::size_t number = 0;
  AttentionInputsOf<float> heads;
  TensorView<const float, 4> d_context;
  AttentionOptions options;  // mask and executor
};

// The model must outlive it. Errors of all functions: those of the model;
// invalid_argument for a text without a token.
class AttributionTarget {
 public:
  virtual ~AttributionTarget() = default;

  // By layer the heads' original numbers, ascending.
  std::vector<std::vector<std::size_t>> heads() const { return all_heads(); }
  // F of a text, with the gates of all layers or, empty, without.
  Result<double> value(
      const std::vector<TokenId>& text, HeadGateSpan gates,
      const Executor& executor = Executor::default_executor()) const {
    return compute(text, gates, executor);
  }
  // One forward and backward pass, for hooks.see and see_gradient. By layer the
  // gradients by the gates, (1, heads), if gates are given.
  Result<std::vector<Tensor<float, 2>>> differentiate(
      const std::vector<TokenId>& text, HeadGateSpan gates,
      const ModelHooks& hooks = {},
      const Executor& executor = Executor::default_executor()) const {
    return compute_gradients(text, gates, hooks, executor);
  }

  // The text as the only example of a model whose loss is F. This object and
  // the executor must outlive it.
  GatedModel gated(
      const std::vector<TokenId>& text,
      const Executor& executor = Executor::default_executor()) const;
  // Sees each layer that has heads, the last one first, in one pass there and
  // back. An error of `see` ends it.
  Status visit_gradients(
      const std::vector<TokenId>& text,
      FunctionRef<Status(const GradientLayer& layer)> see,
      const Executor& executor = Executor::default_executor()) const;
  // Gradient times attention of every layer; empty for a layer without heads.
  Result<std::vector<GradientAttention>> gradient_attention_of(
      const std::vector<TokenId>& text,
      const Executor& executor = Executor::default_executor()) const;

 protected:
  AttributionTarget() = default;
  AttributionTarget(const AttributionTarget&) = default;
  AttributionTarget& operator=(const AttributionTarget&) = default;

 private:
  virtual std::vector<std::vector<std::size_t>> all_heads() const = 0;
  virtual Result<double> compute(const std::vector<TokenId>& text,
                                 HeadGateSpan gates,
                                 const Executor& executor) const = 0;
  virtual Result<std::vector<Tensor<float, 2>>> compute_gradients(
      const std::vector<TokenId>& text, HeadGateSpan gates,
      const ModelHooks& hooks, const Executor& executor) const = 0;
  virtual const MultiHeadAttention& attention(std::size_t layer) const = 0;
};

// What attributions divide in a sentence encoder: a linear function of the
// text's embedding,
//
//   label   F = weight[label] . e + bias[label]   the logit of the classifier
//   length  F = y . y_0 / |y_0|                   of a model without labels
//
// e is the embedding as the classifier sees it; y is the embedding before it is
// divided by its length, if the model does that, and y_0 what y is with all
// heads. y_0 does not change with the gates of heads. (Divided by its length,
// an embedding is as long as any other, and its length has no gradient.)
//
// Example:
//   auto target = EmbeddingTarget::length(encoder, ids).value();
//   target.value(ids, {}).value();  // |y_0|
//   auto parts = integrated_gates(target.gated(ids), 0).value();

// The encoder, read for training, must outlive it.
class EmbeddingTarget final : public AttributionTarget {
 public:
  // Default: the label predicted for the text. Errors: also out_of_range for
  // a label that the probe does not have.
  static Result<EmbeddingTarget> label(
      const SentenceEncoder& encoder, const LabelProbe& probe,
      const std::vector<TokenId>& text, std::optional<std::size_t> label = {},
      const Executor& executor = Executor::default_executor());
  static Result<EmbeddingTarget> length(
      const SentenceEncoder& encoder, const std::vector<TokenId>& text,
      const Executor& executor = Executor::default_executor());

  // Of the probe; not given: the length.
  const std::optional<std::size_t>& label_number() const { return label_; }

 private:
  EmbeddingTarget(const SentenceEncoder& encoder, std::vector<float> direction,
                  double bias, std::optional<std::size_t> label)
      : encoder_(&encoder),
        direction_(std::move(direction)),
        bias_(bias),
        label_(label) {}

  HEADWISE_HIDDEN std::vector<std::vector<std::size_t>> all_heads()
      const override;
  HEADWISE_HIDDEN Result<double> compute(
      const std::vector<TokenId>& text, HeadGateSpan gates,
      const Executor& executor) const override;
  HEADWISE_HIDDEN Result<std::vector<Tensor<float, 2>>> compute_gradients(
      const std::vector<TokenId>& text, HeadGateSpan gates,
      const ModelHooks& hooks, const Executor& executor) const override;
  HEADWISE_HIDDEN const MultiHeadAttention& attention(
      std::size_t layer) const override;
  HEADWISE_HIDDEN bool normalizes() const;

  const SentenceEncoder* encoder_;
  std::vector<float> direction_;
  double bias_;
  std::optional<std::size_t> label_;
};

// What attributions divide in a causal model: how strongly it predicts a token.
//
//   F = logits[position, token]
//
//   position  of the token that the prediction comes after; default: the last
//   token     default: the one with the largest logit there
//
// F is a logit, as that of a label is, and not a
// log-probability: the gradient of ln p has the factor 1 - p and so vanishes
// where the model is sure. What raises all logits alike also raises F.
//
// Tokens after the position have no part in F, and their gradients are 0.
//
// Example:
//   auto target = TokenTarget::create(model, ids).value();
//   model.token(target.token());  // what it predicts after the text
//   target.gradient_attention_of(ids).value()[layer].totals(0, head);

struct TokenTargetOptions {
  std::optional<std::size_t> position{};
  std::optional<TokenId> token{};
};

// Errors of all functions: also out_of_range for a text that ends before the
// position.
class TokenTarget final : public AttributionTarget {
 public:
  // Errors: also out_of_range for a token that the vocabulary does not have.
  static Result<TokenTarget> create(
      const LanguageModel& model, const std::vector<TokenId>& text,
      const TokenTargetOptions& options = {},
      const Executor& executor = Executor::default_executor());

  std::size_t position() const { return position_; }
  TokenId token() const { return token_; }

 private:
  TokenTarget(const LanguageModel& model, std::size_t position, TokenId token)
      : model_(&model), position_(position), token_(token) {}

  HEADWISE_HIDDEN std::vector<std::vector<std::size_t>> all_heads()
      const override;
  HEADWISE_HIDDEN Result<double> compute(
      const std::vector<TokenId>& text, HeadGateSpan gates,
      const Executor& executor) const override;
  HEADWISE_HIDDEN Result<std::vector<Tensor<float, 2>>> compute_gradients(
      const std::vector<TokenId>& text, HeadGateSpan gates,
      const ModelHooks& hooks, const Executor& executor) const override;
  HEADWISE_HIDDEN const MultiHeadAttention& attention(
      std::size_t layer) const override;

  const LanguageModel* model_;
  std::size_t position_;
  TokenId token_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
