#include "transformer/pass_parts.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>

#include "base/check.h"
#include "run/float_environment.h"
#include "steps/check_head_gates.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// "head_gates[1]" of a layer is "head_gates[LAYER][1]" of the model.
Error in_layer(const Error& error, std::size_t layer) {
  constexpr std::string_view kName = "head_gates";
  ErrorDetails details = error.details();
  if (!details.argument.starts_with(kName)) {
    return error;
  }
  details.argument.insert(kName.size(), "[" + std::to_string(layer) + "]");
  return {error.code(), std::move(details)};
}

}  // namespace

std::vector<std::int64_t> offsets_of(const RaggedTokens& ids) {
  std::vector<std::int64_t> offsets = {0};
  offsets.reserve(ids.size() + 1);
  for (const auto& sequence : ids) {
    offsets.push_back(offsets.back() +
                      static_cast<std::int64_t>(sequence.size()));
  }
  return offsets;
}

void add_to(Tensor<float, 3>& to, TensorView<const float, 3> x) {
  const FloatEnvironment environment;
  std::transform(to.data(), to.data() + to.size(), x.data(), to.data(),
                 std::plus<>());
}

HeadHooks hooks_at(const ModelHooks& hooks, HookPlace at) {
  HeadHooks of_layer;
  of_layer.trace = hooks.trace ? hooks.trace(at.layer) : nullptr;
  if (hooks.see_inputs) {
    of_layer.see_inputs = [&hooks, at](const HookedHeads& heads) {
      return hooks.see_inputs(at, heads);
    };
  }
  if (hooks.edit) {
    of_layer.edit = [&hooks, at](const HeadContext& heads) {
      return hooks.edit(at, heads);
    };
  }
  if (hooks.see) {
    of_layer.see = [&hooks, at](TensorView<const float, 4> context) {
      return hooks.see(at, context);
    };
  }
  if (hooks.see_gradient) {
    of_layer.see_gradient = [&hooks, at](TensorView<const float, 4> d_context) {
      return hooks.see_gradient(at, d_context);
    };
  }
  return of_layer;
}

LayerOptions layer_options(HeadGateSpan gates, std::size_t layer,
                           const ModelHooks& hooks, const HeadHooks& of_layer) {
  LayerOptions options;
  if (!gates.empty()) {
    options.head_gates = gates[layer].view();
  }
  options.hooks = hooks.any() ? &of_layer : nullptr;
  return options;
}

Status check_layer_number(std::string_view operation, std::string_view argument,
                          std::size_t layer, std::size_t most) {
  return layer <= most ? ok()
                       : value_error(operation, argument, std::to_string(layer),
                                     message("at most {}", most),
                                     ErrorCode::out_of_range);
}

Status check_model_gates(std::string_view operation, HeadGateSpan gates,
                         std::size_t layers,
                         FunctionRef<std::size_t(std::size_t)> heads_in) {
  if (!gates.empty() && gates.size() != layers) {
    return argument_error(operation, "head_gates",
                          message("has {} layers", gates.size()),
                          std::to_string(layers), ErrorCode::shape_mismatch);
  }
  for (std::size_t n = 0; n < gates.size(); ++n) {
    if (Status s =
            internal::check_head_gates(operation, gates[n].view(), heads_in(n));
        !s) {
      return in_layer(s.error(), n);
    }
  }
  return ok();
}

Status check_training_pass(std::string_view operation, const ModelPass& pass,
                           std::size_t layers) {
  const std::initializer_list<std::pair<std::string_view, bool>> refused = {
      {"token_types", !pass.token_types.empty()},
      {"decoder_ids", pass.decoder_ids != nullptr},
      {"see_attn_weights", static_cast<bool>(pass.see_attn_weights)},
      {"see_entries", static_cast<bool>(pass.see_entries)},
      {"before_each", static_cast<bool>(pass.before_each)},
      {"before_layer", pass.before_layer.value_or(layers) != layers},
      {"from", pass.from.has_value()},
      {"hooks.edit", static_cast<bool>(pass.hooks.edit)},
      {"hooks.trace", static_cast<bool>(pass.hooks.trace)}};
  for (const auto& [name, given] : refused) {
    if (given) {
      return value_error(operation, name, "given",
                         "none in a forward pass of training");
    }
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
