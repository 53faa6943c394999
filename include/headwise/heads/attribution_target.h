// A number F that a model gives for a text, which attributions divide among the
// heads and tokens: of an embedding (heads/embedding_target.h) or of the next
// token (heads/token_target.h).
//
// Example:
//   auto target = TokenTarget::create(model, ids).value();
//   target.value(ids, {}).value();
//   auto parts = integrated_gates(target.gated(ids), 0).value();
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/heads/gradient_attention.h"
#include "headwise/models/model_hooks.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/prune/importance.h"
#include "headwise/run/executor.h"
#include "headwise/steps/head_gates.h"
#include "headwise/steps/tokens.h"
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
  virtual std::vector<std::vector<std::size_t>> heads() const = 0;
  // F of a text, with the gates of all layers or, empty, without.
  virtual Result<double> value(
      const std::vector<TokenId>& text, HeadGateSpan gates,
      const Executor& executor = Executor::default_executor()) const = 0;
  // One forward and backward pass, for hooks.see and see_gradient. By layer the
  // gradients by the gates, (1, heads), if gates are given.
  virtual Result<std::vector<Tensor<float, 2>>> differentiate(
      const std::vector<TokenId>& text, HeadGateSpan gates,
      const ModelHooks& hooks = {},
      const Executor& executor = Executor::default_executor()) const = 0;

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
  virtual bool causal_mask() const = 0;
  virtual const MultiHeadAttention& attention(std::size_t layer) const = 0;
  // Shows what the attention of each layer is given.
  virtual Status see_inputs(const std::vector<TokenId>& text,
                            const BeforeLayer& see,
                            const Executor& executor) const = 0;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
