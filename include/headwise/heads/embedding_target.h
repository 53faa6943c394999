// The number of a text that attributions divide among heads and tokens, a
// linear function of its embedding:
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
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/heads/gradient_attention.h"
#include "headwise/models/label_probe.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/prune/importance.h"
#include "headwise/run/executor.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The encoder, read for training, must outlive it. Errors of all functions:
// those of BertEncoder::forward_for_backward(); invalid_argument for a text
// without a token.
class EmbeddingTarget {
 public:
  // Not given: the label predicted for the text. Errors: also out_of_range for
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

  // F of a text, with the gates of all layers or, empty, without.
  Result<double> value(
      const std::vector<TokenId>& text, std::span<const Tensor<float, 1>> gates,
      const Executor& executor = Executor::default_executor()) const;
  // One pass there and back. By layer the gradients by the gates, (1, heads),
  // if `options` has gates.
  Result<std::vector<Tensor<float, 2>>> differentiate(
      const std::vector<TokenId>& text, const BertOptions& options) const;

  // The text as the only example of a model whose loss is F. This object must
  // outlive it.
  GatedModel gated(
      const std::vector<TokenId>& text,
      const Executor& executor = Executor::default_executor()) const;
  // Gradient times attention of every layer; empty for a layer without heads.
  Result<std::vector<GradientAttention>> gradient_attention_of(
      const std::vector<TokenId>& text,
      const Executor& executor = Executor::default_executor()) const;

 private:
  EmbeddingTarget(const SentenceEncoder& encoder, std::vector<float> direction,
                  double bias, std::optional<std::size_t> label)
      : encoder_(&encoder),
        direction_(std::move(direction)),
        bias_(bias),
        label_(label) {}

  bool normalizes() const;

  const SentenceEncoder* encoder_;
  std::vector<float> direction_;
  double bias_;
  std::optional<std::size_t> label_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
