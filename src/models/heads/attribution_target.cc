#include "headwise/heads/attribution_target.h"

#include <utility>

#include "base/copy_of.h"
#include "base/out_of_memory.h"
#include "headwise/heads/projected_heads.h"
#include "headwise/steps/mask.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Status show(std::size_t number, const MultiHeadAttention& attention,
            const Tensor<float, 3>& input, TensorView<const float, 4> d_context,
            const AttentionOptions& options,
            FunctionRef<Status(const GradientLayer& layer)> see) {
  const Executor& executor = *options.executor;
  HEADWISE_ASSIGN(const auto heads,
                  ProjectedHeads::of(attention, input, executor));
  HEADWISE_ASSIGN(const auto value,
                  attention.params()->w_v->forward(input, "hidden", executor));
  const std::size_t L = input.extent(1);
  const TensorView<const float, 4> values(
      value.data(),
      {1, L, attention.config().num_heads, *attention.config().v_head_dim});
  return see({.number = number,
              .heads = {heads.query(0, L), heads.key(0, L), values},
              .d_context = d_context,
              .options = options});
}

}  // namespace

GatedModel AttributionTarget::gated(const std::vector<TokenId>& text,
                                    const Executor& executor) const {
  GatedModel model;
  model.heads = heads();
  model.examples = 1;
  model.losses = [this, text, &executor](
                     std::size_t, std::size_t,
                     HeadGateSpan gates) -> Result<std::vector<double>> {
    HEADWISE_ASSIGN(const auto loss, value(text, gates, executor));
    return std::vector<double>{loss};
  };
  model.gradients = [this, text, &executor](std::size_t, std::size_t,
                                            HeadGateSpan gates) {
    return differentiate(text, gates, {}, executor);
  };
  return model;
}

Status AttributionTarget::visit_gradients(
    const std::vector<TokenId>& text,
    FunctionRef<Status(const GradientLayer& layer)> see,
    const Executor& executor) const {
  return catching_out_of_memory([&]() -> Status {
    std::vector<Tensor<float, 3>> inputs;
    const auto keep = [&](std::size_t,
                          TensorView<const float, 3> hidden) -> Status {
      HEADWISE_ASSIGN(auto copy, copy_of(hidden));
      inputs.push_back(std::move(copy));
      return ok();
    };
    HEADWISE_TRY(see_inputs(text, keep, executor));
    AttentionOptions options;
    options.executor = &executor;
    if (causal_mask()) {
      options.mask = causal();
    }
    ModelHooks hooks;
    hooks.see_gradient = [&](std::size_t n,
                             TensorView<const float, 4> d_context) {
      return show(n, attention(n), inputs[n], d_context, options, see);
    };
    const auto done = differentiate(text, {}, hooks, executor);
    return done ? ok() : Status(done.error());
  });
}

Result<std::vector<GradientAttention>> AttributionTarget::gradient_attention_of(
    const std::vector<TokenId>& text, const Executor& executor) const {
  return catching_out_of_memory(
      [&]() -> Result<std::vector<GradientAttention>> {
        std::vector<GradientAttention> layers(heads().size());
        const auto see = [&](const GradientLayer& layer) -> Status {
          HEADWISE_ASSIGN(
              layers[layer.number],
              gradient_attention(layer.heads, layer.d_context, layer.options));
          return ok();
        };
        HEADWISE_TRY(visit_gradients(text, see, executor));
        return layers;
      });
}

}  // namespace headwise::inline HEADWISE_ABI
