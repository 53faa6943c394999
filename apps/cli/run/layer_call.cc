// run_layer(): the layer by one process, or by those of --parallel.
#include <utility>
#include <vector>

#include "cached_layer.h"
#include "keep_mask.h"
#include "layer_result.h"
#include "operands.h"
#include "operation/arithmetic_option.h"
#include "operation/layer_params.h"
#include "operation/number_type.h"
#include "parallel_layer.h"
#include "parallel_plan.h"
#include "run_call.h"
#include "run_gradients.h"
#include "shell/outcome.h"
#include "shell/ranks/rank_job.h"
#include "shell/visible_work.h"

namespace headwise::cli {
namespace {

template <class T>
Result<RunResult> run_layer_forward(const MultiHeadAttention& layer,
                                    const Operands<T, 3>& in,
                                    const AttentionOptions& options,
                                    const LayerOptions& layer_options) {
  HEADWISE_ASSIGN(auto result, layer.forward(in.query, in.key, in.value,
                                             options, layer_options));
  return run_result<T>(std::move(result));
}

template <class T>
Result<RunResult> run_layer_both_ways(const RunFlags& flags,
                                      const MultiHeadAttention& layer,
                                      const Operands<T, 3>& in, bool batched,
                                      const AttentionOptions& options,
                                      const LayerOptions& layer_options) {
  HEADWISE_ASSIGN(auto saved,
                  layer.forward_for_backward(in.query, in.key, in.value,
                                             options, layer_options));
  const auto& shape = saved.result().output.extents();
  HEADWISE_ASSIGN(const auto files,
                  read_upstream(flags, batched, {shape.begin(), shape.end()},
                                saved.result().attn_weights.extents()));
  HEADWISE_ASSIGN(const auto d_output, d_output_in<T>(files));
  HEADWISE_ASSIGN(auto gradients,
                  layer.backward(saved, d_output, files.d_attn_weights_view()));
  HEADWISE_ASSIGN(auto wide, widen_gradients<T>(std::move(gradients)));
  HEADWISE_ASSIGN(auto named_ones,
                  named_gradients(std::move(wide), options.bias, batched));
  return run_result<T>(std::move(saved).take_result(), std::move(named_ones));
}

// As far as a spec of the call needs them.
AddedKeys added_keys_of(const MultiHeadAttention& layer) {
  const MultiHeadAttentionConfig& config = layer.config();
  AddedKeys added = {.zero_attn = config.add_zero_attn};
  if (config.add_bias_kv) {
    const MultiHeadAttentionParams& params = *layer.params();
    added.bias_k = {params.bias_k->data(),
                    {*config.num_kv_heads, *config.head_dim}};
    added.bias_v = {params.bias_v->data(),
                    {*config.num_kv_heads, *config.v_head_dim}};
  }
  return added;
}

template <class T>
Result<RunResult> run_layer_in(const RunFlags& flags,
                               const MultiHeadAttention& layer,
                               Operands<float, 3> floats, bool batched,
                               const AttentionOptions& options,
                               const LayerOptions& layer_options) {
  HEADWISE_ASSIGN(const auto in, narrow<T>(std::move(floats)));
  return flags.d_output.empty()
             ? run_layer_forward<T>(layer, in, options, layer_options)
             : run_layer_both_ways<T>(flags, layer, in, batched, options,
                                      layer_options);
}

// The layer of --params, which fits the inputs.
Result<MultiHeadAttention> ready_layer(const RunFlags& flags,
                                       const InputArrays& arrays,
                                       const RotaryInputs& rotary) {
  HEADWISE_ASSIGN(const auto qk_norm, flags.qk_norm.norm());
  HEADWISE_ASSIGN(
      auto files,
      read_layer(flags.params, {.num_heads = flags.num_heads,
                                .num_kv_heads = flags.num_kv_heads,
                                .scoring = flags.operation.scoring,
                                .vdim = arrays.value.shape.back(),
                                .qk_norm = qk_norm,
                                .add_zero_attn = flags.operation.zero_attn,
                                .choice = flags.layer.choice()}));
  HEADWISE_TRY(check_layer_inputs(flags, arrays, files.layer.config()));
  HEADWISE_ASSIGN(auto rotation, rotary.rotary(*files.layer.config().head_dim));
  HEADWISE_TRY(files.layer.set_rotary(std::move(rotation)));
  HEADWISE_TRY(
      files.layer.set_arithmetic(arithmetic_of(flags.operation.arithmetic)));
  if (flags.cache.given() && files.layer.config().add_bias_kv) {
    return option_error("--params " + flags.params,
                        "has bias_k, an added key, which --cache does not take",
                        "", ErrorCode::unsupported);
  }
  return std::move(files.layer);
}

// A call of a layer that was read and fits its inputs.
struct ReadyLayer {
  const RunFlags& flags;
  bool batched;
  const OperationInputs& inputs;
  const AttentionOptions& options;
  LayerOptions layer_options;
  AttentionShape tensors;     // the sizes of the heads
  OperationOptions of_heads;  // as far as a spec of the call needs them

  Result<AttentionSpec> spec() const {
    return AttentionSpec::create(tensors, options, of_heads, "run");
  }
};

Result<RunResult> run_alone(const MultiHeadAttention& layer,
                            Operands<float, 3> in, const ReadyLayer& of) {
  auto result = of.flags.cache.given()
                    ? layer_through_cache(of.flags, layer, in, of.inputs,
                                          of.options, of.tensors)
                    : with_dtype(of.flags.dtype, [&](auto number) {
                        return run_layer_in<decltype(number)>(
                            of.flags, layer, std::move(in), of.batched,
                            of.options, of.layer_options);
                      });
  return with_keep_mask(nullptr, of.flags, std::move(result), of.spec());
}

Result<RunResult> through_cache_together(Communicator& group,
                                         const MultiHeadAttention& layer,
                                         const InputArrays& arrays,
                                         const ReadyLayer& of) {
  const auto in =
      work_visibly(&group, [&] { return read_operands<3>(arrays); });
  HEADWISE_TRY(agreed(group, in));
  return layer_through_cache_together(group, of.flags, layer, *in, of.inputs,
                                      of.options, of.tensors);
}

// The result is that of rank 0.
Result<RunResult> run_by_ranks(Communicator& group, MultiHeadAttention layer,
                               const InputArrays& arrays,
                               const ReadyLayer& of) {
  const auto spec = of.spec();
  HEADWISE_TRY(agreed(group, spec));
  auto result =
      of.flags.cache.given()
          ? through_cache_together(group, layer, arrays, of)
          : run_layer_together(group, std::move(layer), arrays,
                               {of.flags, of.batched, of.options,
                                of.layer_options, *spec, of.inputs.key_band()});
  return with_keep_mask(&group, of.flags, std::move(result), spec);
}

}  // namespace

Result<RunResult> run_layer(const RunFlags& flags, const InputArrays& arrays,
                            const OperationInputs& inputs,
                            const AttentionOptions& options,
                            const RotaryInputs& rotary, Communicator* group) {
  auto layer =
      work_visibly(group, [&] { return ready_layer(flags, arrays, rotary); });
  if (group != nullptr) {
    HEADWISE_TRY(agreed(*group, layer));
  }
  HEADWISE_TRY(layer);
  const LayerOptions layer_options = {.positions = rotary.positions()};
  const MultiHeadAttentionConfig& config = layer->config();
  HEADWISE_ASSIGN(auto kv_groups, HeadGroups::create(config.kv_group_sizes));
  const AttentionShape tensors = {.B = arrays.query.shape[0],
                                  .Hq = config.num_heads,
                                  .Hkv = *config.num_kv_heads,
                                  .Lq = arrays.query.shape[1],
                                  .Lkv = arrays.key.shape[1],
                                  .D = *config.head_dim,
                                  .Dv = *config.v_head_dim,
                                  .kv_groups = std::move(kv_groups)};
  const ReadyLayer of = {
      flags,
      arrays.batched,
      inputs,
      options,
      layer_options,
      tensors,
      {.kv_groups = tensors.kv_groups, .added_keys = added_keys_of(*layer)}};
  if (group != nullptr) {
    return run_by_ranks(*group, *std::move(layer), arrays, of);
  }
  HEADWISE_ASSIGN(auto in, read_operands<3>(arrays));
  return run_alone(*layer, std::move(in), of);
}

}  // namespace headwise::cli
