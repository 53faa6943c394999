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
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/heads/attribution_target.h"
#include "headwise/models/label_probe.h"
#include "headwise/models/model_hooks.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/executor.h"
#include "headwise/steps/head_gates.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

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

  std::vector<std::vector<std::size_t>> heads() const override;
  Result<double> value(
      const std::vector<TokenId>& text, HeadGateSpan gates,
      const Executor& executor = Executor::default_executor()) const override;
  Result<std::vector<Tensor<float, 2>>> differentiate(
      const std::vector<TokenId>& text, HeadGateSpan gates,
      const ModelHooks& hooks = {},
      const Executor& executor = Executor::default_executor()) const override;

 private:
  EmbeddingTarget(const SentenceEncoder& encoder, std::vector<float> direction,
                  double bias, std::optional<std::size_t> label)
      : encoder_(&encoder),
        direction_(std::move(direction)),
        bias_(bias),
        label_(label) {}

  bool causal_mask() const override { return false; }
  const MultiHeadAttention& attention(std::size_t layer) const override;
  Status see_inputs(const std::vector<TokenId>& text, const BeforeLayer& see,
                    const Executor& executor) const override;
  bool normalizes() const;

  const SentenceEncoder* encoder_;
  std::vector<float> direction_;
  double bias_;
  std::optional<std::size_t> label_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
