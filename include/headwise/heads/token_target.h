// What attributions divide in a causal model: how strongly it predicts a token.
//
//   F = logits[position, token]
//
//   position  of the token that the prediction comes after; default: the last
//   token     default: the one with the largest logit there
//
// F is a logit, as that of a label is (heads/embedding_target.h), and not a
// log-probability: the gradient of ln p has the factor 1 - p and so vanishes
// where the model is sure. What raises all logits alike also raises F.
//
// Tokens after the position have no part in F, and their gradients are 0.
//
// Example:
//   auto target = TokenTarget::create(model, ids).value();
//   model.token(target.token());  // what it predicts after the text
//   target.gradient_attention_of(ids).value()[layer].totals(0, head);
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/heads/attribution_target.h"
#include "headwise/models/causal_model.h"
#include "headwise/models/model_hooks.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/executor.h"
#include "headwise/steps/head_gates.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

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
      const CausalModel& model, const std::vector<TokenId>& text,
      const TokenTargetOptions& options = {},
      const Executor& executor = Executor::default_executor());

  std::size_t position() const { return position_; }
  TokenId token() const { return token_; }

  std::vector<std::vector<std::size_t>> heads() const override;
  Result<double> value(
      const std::vector<TokenId>& text, HeadGateSpan gates,
      const Executor& executor = Executor::default_executor()) const override;
  Result<std::vector<Tensor<float, 2>>> differentiate(
      const std::vector<TokenId>& text, HeadGateSpan gates,
      const ModelHooks& hooks = {},
      const Executor& executor = Executor::default_executor()) const override;

 private:
  TokenTarget(const CausalModel& model, std::size_t position, TokenId token)
      : model_(&model), position_(position), token_(token) {}

  bool causal_mask() const override { return true; }
  const MultiHeadAttention& attention(std::size_t layer) const override;
  Status see_inputs(const std::vector<TokenId>& text, const BeforeLayer& see,
                    const Executor& executor) const override;

  const CausalModel* model_;
  std::size_t position_;
  TokenId token_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
