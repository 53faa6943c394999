#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "headwise/steps/head_gates.h"
#include "headwise/steps/norm_heads.h"
#include "headwise/steps/rotate_heads.h"
#include "module/cached_heads.h"
#include "module/layer_call.h"
#include "module/layer_moves.h"
#include "module/layer_run.h"
#include "module/layer_trace.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

bool change_something(TensorView<const float, 1> gates) {
  for (std::size_t h = 0; h < gates.extent(0); ++h) {
    if (gates(h) != 1) {
      return true;
    }
  }
  return false;
}

// `merged` times the gates. Where the backward pass needs `merged`, too, the
// result is in new memory.
Result<Tensor<float, 3>> gate(Tensor<float, 3>& merged, const LayerCall& call) {
  const bool keep = call.for_backward;
  auto gated = keep ? Tensor<float, 3>::create_unset(merged.extents())
                    : Result<Tensor<float, 3>>(std::exchange(merged, {}));
  if (!gated) {
    return gated;
  }
  const TensorView<const float, 1> gates = call.layer_options.head_gates;
  const std::size_t heads = gates.extent(0);
  const auto from = std::as_const(keep ? merged : *gated).view();
  HEADWISE_TRY(gate_heads(in_heads(from, heads), gates,
                          in_heads(gated->view(), heads),
                          executor_of(call.options)));
  trace_gated(call.trace, in_heads(std::as_const(*gated).view(), heads));
  return gated;
}

// Writes the output to the caller's memory.
Status write_output(const std::optional<Linear>& w_o,
                    const Tensor<float, 3>& merged, const LayerCall& call) {
  if (w_o) {
    return w_o->forward_into(merged.view(), call.output, "merged",
                             executor_of(call.options));
  }
  const auto [B, L, features] = merged.extents();
  for (std::size_t b = 0; merged.size() != 0 && b < B; ++b) {
    for (std::size_t l = 0; l < L; ++l) {
      std::copy_n(&merged(b, l, 0), features, &call.output(b, l, 0));
    }
  }
  return ok();
}

// The output of the merged heads: without a w_o `merged` itself. Empty where
// the caller has the memory for it.
Result<Tensor<float, 3>> output_of(const std::optional<Linear>& w_o,
                                   Tensor<float, 3>& merged,
                                   const LayerCall& call) {
  trace_merged(call.trace, std::as_const(merged).view());
  if (call.output_only()) {
    HEADWISE_TRY(write_output(w_o, merged, call));
    trace_output(call.trace, call.output, w_o.has_value());
    return Tensor<float, 3>();
  }
  auto output = w_o ? w_o->forward(std::as_const(merged).view(), "merged",
                                   executor_of(call.options))
                    : Result<Tensor<float, 3>>(std::exchange(merged, {}));
  if (output) {
    trace_output(call.trace, std::as_const(*output).view(), w_o.has_value());
  }
  return output;
}

// A layer whose heads were all pruned: its output is the bias.
Result<LayerRun> run_without_heads(const LayerState& layer,
                                   const LayerCall& call,
                                   AttentionOptions options) {
  const std::size_t batches = call.inputs.query.extent(0);
  const std::size_t rows = call.inputs.query.extent(1);
  HEADWISE_ASSIGN(auto pairs, pairs_without_heads(call));
  HEADWISE_ASSIGN(auto merged, Tensor<float, 3>::create({batches, rows, 0}));
  HEADWISE_ASSIGN(auto lse, Tensor<float, 3>::create({batches, 0, rows}));
  HEADWISE_ASSIGN(auto attn_weights,
                  Tensor<float, 4>::create(pairs.attn_weights));
  HEADWISE_ASSIGN(auto scores, Tensor<float, 4>::create(pairs.scores));
  HEADWISE_ASSIGN(auto output, output_of(layer.params->w_o, merged, call));
  return LayerRun{.options = std::move(options),
                  .merged = std::move(merged),
                  .result = {std::move(output), std::move(attn_weights),
                             std::move(lse), std::move(scores)}};
}

// The context of the heads after their gates.
struct GatedHeads {
  Attended attended;
  Tensor<float, 3> ungated;  // as LayerRun::ungated
};

// Calls the hooks of the forward pass.
Status show_context(const HeadHooks& hooks, const HeadContext& heads) {
  if (hooks.edit) {
    HEADWISE_TRY(hooks.edit(heads));
  }
  return hooks.see ? hooks.see(heads.context) : ok();
}

Result<GatedHeads> gate_context(Result<Attended> attended,
                                const LayerState& layer,
                                const SplitHeads& heads,
                                const LayerCall& call) {
  HEADWISE_TRY(attended);
  if (const HeadHooks* const hooks = call.layer_options.hooks) {
    HEADWISE_TRY(show_context(
        *hooks,
        {heads.value, in_heads(attended->merged.view(), layer.config.num_heads),
         layer.kv_groups}));
  }
  Tensor<float, 3> ungated;
  if (change_something(call.layer_options.head_gates)) {
    HEADWISE_ASSIGN(auto gated, gate(attended->merged, call));
    ungated = std::exchange(attended->merged, std::move(gated));
  }
  return GatedHeads{*std::move(attended), std::move(ungated)};
}

// Queries or keys after their norm: in new memory where the backward pass needs
// them as they were projected, too, and otherwise in place.
Result<TensorView<float, 4>> normalized(const LayerState& layer,
                                        const LayerCall& call,
                                        const HeadNormParams& params,
                                        TensorView<float, 4> heads,
                                        Tensor<float, 3>& memory) {
  TensorView<float, 4> to = heads;
  if (call.for_backward) {
    const auto [B, L, H, D] = heads.extents();
    HEADWISE_ASSIGN(memory, Tensor<float, 3>::create_unset({B, L, H * D}));
    to = in_heads(memory.view(), H);
  }
  HEADWISE_TRY(norm_heads(*layer.config.qk_norm, params, heads, to,
                          executor_of(call.options)));
  return to;
}

Status check_hooks(const LayerCall& call) {
  const HeadHooks* const hooks = call.layer_options.hooks;
  if (hooks == nullptr) {
    return ok();
  }
  for (const auto& [name, given] :
       {std::pair("hooks.edit", static_cast<bool>(hooks->edit)),
        {"hooks.trace", hooks->trace != nullptr}}) {
    if (given && call.for_backward) {
      return value_error(kLayerOperation, name, "given",
                         "none in a forward pass of training");
    }
  }
  return hooks->trace != nullptr && call.trace != nullptr
             ? value_error(kLayerOperation, "hooks.trace", "given",
                           "none if the call has a trace")
             : ok();
}

// What the operation compares: the heads of what was projected, queries and
// keys normalised and rotated where the layer does so.
Result<SplitHeads> heads_of(const LayerState& layer, const LayerCall& call,
                            const AttentionOptions& options,
                            const AttentionShape& shape, Projected& projected,
                            NormedHeads& normed) {
  const TensorView<const float, 3> values =
      layer.params->w_v ? std::as_const(projected.value).view()
                        : call.inputs.value;
  HEADWISE_ASSIGN(auto heads, split(projected, values, shape));
  trace_heads(call.trace, projected, values, heads);
  QueriesAndKeys compared{in_heads(projected.query.view(), shape.Hq),
                          in_heads(projected.key.view(), shape.Hkv)};
  if (layer.config.qk_norm) {
    HEADWISE_ASSIGN(const auto query,
                    normalized(layer, call, *layer.params->q_norm,
                               compared.query, normed.query));
    HEADWISE_ASSIGN(const auto key,
                    normalized(layer, call, *layer.params->k_norm, compared.key,
                               normed.key));
    compared = {query, key};
    heads.query = query;
    heads.key = key;
    trace_normed(call.trace, heads);
  }
  if (const Rotary* const rotary = rotary_of(layer, call.layer_options)) {
    HEADWISE_TRY(rotate_heads(*rotary, compared, shape, options.query_start,
                              call.layer_options.positions,
                              executor_of(call.options)));
    trace_rotated(call.trace, heads);
  }
  if (const HeadHooks* const hooks = call.layer_options.hooks;
      hooks != nullptr && hooks->see_inputs) {
    HEADWISE_TRY(hooks->see_inputs(
        {heads.query, heads.key, heads.value, options, layer.kv_groups}));
  }
  HEADWISE_TRY(
      trace_operation(call.trace, heads, options, operation_options_of(layer)));
  return heads;
}

Result<LayerRun> run_heads(const LayerState& layer, const LayerCall& call,
                           AttentionOptions options) {
  HEADWISE_ASSIGN(const auto plan, plan_of(layer, call.inputs, options));
  const AttentionShape& shape = plan.spec().shape;
  // A trace and a hook are shown whole tensors.
  const HeadHooks* const hooks = call.layer_options.hooks;
  const bool whole =
      call.trace != nullptr || (hooks != nullptr && hooks->see_inputs);
  const std::vector<std::size_t> ends =
      whole ? std::vector<std::size_t>{} : read_ends(plan.spec());
  LayerMemory memory = layer.memory->take();
  HEADWISE_ASSIGN(
      auto projected,
      project_inputs(*layer.params, call.inputs, shape, ends,
                     executor_of(call.options), std::move(memory.projected)));
  NormedHeads normed;
  HEADWISE_ASSIGN(const auto heads,
                  heads_of(layer, call, options, shape, projected, normed));
  HEADWISE_ASSIGN(auto gated,
                  gate_context(attend(plan, heads,
                                      {.lse = !call.output_only(),
                                       .softmax_rows = call.for_backward},
                                      memory),
                               layer, heads, call));
  Attended& attended = gated.attended;
  HEADWISE_ASSIGN(auto output,
                  output_of(layer.params->w_o, attended.merged, call));
  MultiHeadAttentionResult<3> result{
      std::move(output), std::move(attended.attn_weights),
      std::move(attended.lse), std::move(attended.scores)};
  if (!call.for_backward) {
    memory.projected = std::move(projected);
    memory.merged = std::move(attended.merged);
    layer.memory->give(std::move(memory));
    return LayerRun{.result = std::move(result)};
  }
  return LayerRun{.options = std::move(options),
                  .layer_options = call.layer_options,
                  .projected = std::move(projected),
                  .normed = std::move(normed),
                  .merged = std::move(attended.merged),
                  .ungated = std::move(gated.ungated),
                  .softmax_rows = std::move(attended.softmax_rows),
                  .result = std::move(result)};
}

// Over a cache, of which the call's keys become a part.
Result<LayerRun> run_with_cache(const LayerState& layer, const LayerCall& call,
                                const AttentionOptions& options) {
  HEADWISE_ASSIGN(const auto shape, shape_of_new_tokens(layer, call));
  HEADWISE_ASSIGN(const auto positions, positions_of_new_tokens(call, shape));
  LayerOptions layer_options = call.layer_options;
  const TensorView<const std::int64_t, 2> places(
      positions.data(), {shape.batches(), shape.query_rows()});
  for (auto* given : {&layer_options.positions.query_positions,
                      &layer_options.positions.key_positions}) {
    *given = given->data() == nullptr ? places : *given;
  }
  const LayerCall here = {.inputs = call.inputs,
                          .options = call.options,
                          .layer_options = layer_options,
                          .output = call.output};
  LayerMemory memory = layer.memory->take();
  HEADWISE_ASSIGN(
      auto projected,
      project_inputs(*layer.params, call.inputs, shape, {},
                     executor_of(call.options), std::move(memory.projected)));
  NormedHeads normed;
  HEADWISE_ASSIGN(const auto heads,
                  heads_of(layer, here, options, shape, projected, normed));
  HEADWISE_ASSIGN(
      auto gated,
      gate_context(attend_to_cache(layer, here, options, shape, heads, memory),
                   layer, heads, here));
  Attended& attended = gated.attended;
  HEADWISE_ASSIGN(auto output,
                  output_of(layer.params->w_o, attended.merged, here));
  memory.projected = std::move(projected);
  memory.merged = std::move(attended.merged);
  layer.memory->give(std::move(memory));
  return LayerRun{
      .result = {std::move(output), std::move(attended.attn_weights),
                 std::move(attended.lse), std::move(attended.scores)}};
}

}  // namespace

}  // namespace headwise::inline HEADWISE_ABI

namespace headwise::internal::inline HEADWISE_ABI {

Result<LayerRun> run_layer(const LayerState& layer, const LayerCall& given) {
  HEADWISE_TRY(check_hooks(given));
  LayerCall call = given;
  if (call.trace == nullptr && call.layer_options.hooks != nullptr) {
    call.trace = call.layer_options.hooks->trace;
  }
  HEADWISE_TRY(check_inputs(layer, call.inputs));
  HEADWISE_TRY(check_arithmetic(layer, call));
  HEADWISE_TRY(check_layer_options(layer, call.layer_options));
  if (call.layer_options.cache != nullptr && layer.config.num_heads != 0) {
    return run_with_cache(layer, call, options_of(layer, call));
  }
  return layer.config.num_heads == 0
             ? run_without_heads(layer, call, options_of(layer, call))
             : run_heads(layer, call, options_of(layer, call));
}

}  // namespace headwise::internal::inline HEADWISE_ABI
