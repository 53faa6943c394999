#include "headwise/heads/attribution_target.h"

#include <memory>
#include <utility>

#include "base/out_of_memory.h"
#include "heads/kept_inputs.h"

namespace headwise::inline HEADWISE_ABI {

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
    std::vector<std::shared_ptr<const KeptInputs>> inputs(heads().size());
    ModelHooks hooks;
    hooks.see_inputs = [&](HookPlace at, const HookedHeads& heads) -> Status {
      HEADWISE_ASSIGN(inputs[at.layer],
                      KeptInputs::of(heads, /*with_values=*/true));
      return ok();
    };
    hooks.see_gradient = [&](HookPlace at,
                             TensorView<const float, 4> d_context) {
      const KeptInputs& kept = *inputs[at.layer];
      return see({.number = at.layer,
                  .heads = {kept.query(), kept.key(), kept.value()},
                  .d_context = d_context,
                  .options = kept.options()});
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
