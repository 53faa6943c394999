#include "run_call.h"

#include <optional>
#include <utility>
#include <vector>

#include "headwise/attention/backward.h"
#include "headwise/attention/forward.h"
#include "headwise/steps/offsets.h"
#include "headwise/steps/rotate_heads.h"
#include "operation/layer_params.h"
#include "operation/number_type.h"
#include "run_gradients.h"

namespace headwise::cli {
namespace {

// All pairs of tensors with these sizes, for this number of heads; 0: not
// wanted.
Extents<4> pairs_of(const AttentionOptions& options, const Extents<4>& q,
                    const Extents<4>& k, std::size_t heads) {
  if (heads == 0) {
    return {};
  }
  const Offsets& offsets = options.offsets;
  return offsets.ragged()
             ? Extents<4>{offsets.sequences(), heads, longest(offsets.query),
                          longest(offsets.key)}
             : Extents<4>{q[0], heads, q[1], k[1]};
}

// The heads of the attention weights and scores that are asked for.
std::size_t weight_heads(const AttentionOptions& options, std::size_t heads) {
  return options.attn_weights == AttnWeights::none   ? 0
         : options.attn_weights == AttnWeights::mean ? 1
                                                     : heads;
}
std::size_t score_heads(const AttentionOptions& options, std::size_t heads) {
  return options.scores == ScoresStage::none ? 0 : heads;
}

// The tensors of a call of the operation that have its type, in the layout of
// the files.
template <class T>
struct Operands {
  Tensor<T, 4> query;
  Tensor<T, 4> key;
  Tensor<T, 4> value;
  Tensor<T, 4> output{};  // what the backward pass reads, too
};

// The rotation of the queries and keys of a call, where one is asked for.
struct Rotation {
  std::optional<Rotary> rotary;
  AttentionShape shape;
  QueryStart query_start;
  HeadPositions positions;
  const Executor& executor;

  Status rotate(const QueriesAndKeys& heads) const {
    return rotary ? rotate_heads(*rotary, heads, shape, query_start, positions,
                                 executor)
                  : ok();
  }
  Status rotate_back(const QueriesAndKeys& gradients) const {
    return rotary ? rotate_heads_back(*rotary, gradients, shape, query_start,
                                      positions, executor)
                  : ok();
  }
};

Result<Rotation> rotation_of(const RotaryInputs& inputs,
                             const AttentionShape& tensors,
                             const AttentionOptions& options,
                             const OperationOptions& operation_options) {
  auto rotary = inputs.rotary(tensors.D);
  HEADWISE_TRY(rotary);
  auto spec = AttentionSpec::create(tensors, options, operation_options, "run");
  HEADWISE_TRY(spec);
  return Rotation{*std::move(rotary), std::move(spec->shape),
                  options.query_start, inputs.positions(), *spec->executor};
}

// `rows` are the softmax rows of the forward pass.
template <class T>
Result<std::vector<NamedGradient>> operation_gradients(
    const RunFlags& flags, const Operands<T>& in,
    const TensorView<const float, 4>& rows, const Extents<4>& attn_weights,
    bool batched, const AttentionOptions& options,
    const OperationOptions& operation_options, const Rotation& rotation) {
  const auto& shape = in.output.extents();
  auto files =
      read_upstream(flags, batched, {shape.begin(), shape.end()}, attn_weights);
  HEADWISE_TRY(files);
  auto wide_d_output = to_float<4>(files->d_output, "run", "--d-output");
  HEADWISE_TRY(wide_d_output);
  const auto d_output = narrow<T>(*std::move(wide_d_output));
  auto d_query = Tensor<T, 4>::create(in.query.extents());
  auto d_key = Tensor<T, 4>::create(in.key.extents());
  auto d_value = Tensor<T, 4>::create(in.value.extents());
  auto d_bias = make_bias_gradient(options.bias);
  auto d_t5_bias = Tensor<float, 2>::create(options.t5_bias.table.extents());
  auto d_alibi = Tensor<float, 1>::create({options.alibi.extent(0)});
  auto d_sinks = Tensor<float, 1>::create({options.sinks.extent(0)});
  auto d_score_weight =
      Tensor<float, 2>::create(operation_options.score_weight.extents());
  HEADWISE_TRY(d_output);
  HEADWISE_TRY(d_query);
  HEADWISE_TRY(d_key);
  HEADWISE_TRY(d_value);
  HEADWISE_TRY(d_bias);
  HEADWISE_TRY(d_t5_bias);
  HEADWISE_TRY(d_alibi);
  HEADWISE_TRY(d_sinks);
  HEADWISE_TRY(d_score_weight);
  const auto as_extents = [&](auto&& tensor) {
    const TensorView view(tensor);
    return flags.heads_first() ? as_blhd(view) : view;
  };
  const bool bucketed = d_t5_bias->size() != 0;
  const bool sloped = d_alibi->size() != 0;
  const bool sunk = d_sinks->size() != 0;
  const bool additive = d_score_weight->size() != 0;
  HEADWISE_TRY(attention_backward(
      BackwardInputsOf<T>{as_extents(in.query), as_extents(in.key),
                          as_extents(in.value), as_extents(in.output), rows,
                          as_extents(*d_output), files->d_attn_weights_view()},
      AttentionGradientsOf<T>{
          as_extents(*d_query), as_extents(*d_key), as_extents(*d_value),
          d_bias->by_scores, bucketed ? *d_t5_bias : TensorView<float, 2>(),
          sloped ? *d_alibi : TensorView<float, 1>(),
          additive ? *d_score_weight : TensorView<float, 2>(),
          sunk ? *d_sinks : TensorView<float, 1>()},
      options, operation_options));
  auto wide_d_query = widen<T>(*std::move(d_query));
  auto wide_d_key = widen<T>(*std::move(d_key));
  auto wide_d_value = widen<T>(*std::move(d_value));
  HEADWISE_TRY(wide_d_query);
  HEADWISE_TRY(wide_d_key);
  HEADWISE_TRY(wide_d_value);
  HEADWISE_TRY(rotation.rotate_back(
      {as_extents(wide_d_query->view()), as_extents(wide_d_key->view())}));
  std::vector<NamedGradient> gradients;
  gradients.push_back(named("d_query", *std::move(wide_d_query), batched));
  gradients.push_back(named("d_key", *std::move(wide_d_key), batched));
  gradients.push_back(named("d_value", *std::move(wide_d_value), batched));
  if (options.bias.given()) {
    gradients.push_back(
        {"d_bias", std::move(d_bias->shape), std::move(d_bias->elements)});
  }
  if (bucketed) {
    gradients.push_back(named("d_t5_bias", *std::move(d_t5_bias), true));
  }
  if (sloped) {
    gradients.push_back(named("d_alibi", *std::move(d_alibi), true));
  }
  if (sunk) {
    gradients.push_back(named("d_sinks", *std::move(d_sinks), true));
  }
  if (additive) {
    gradients.push_back(
        named("d_score_weight", *std::move(d_score_weight), true));
  }
  return gradients;
}

// The operation on tensors in T; the result is float32 again.
template <class T>
Result<RunResult> attend_in(const RunFlags& flags, Operands<float> floats,
                            bool batched, const AttentionOptions& options,
                            const OperationOptions& operation_options,
                            const Rotation& rotation) {
  auto query = narrow<T>(std::move(floats.query));
  auto key = narrow<T>(std::move(floats.key));
  auto value = narrow<T>(std::move(floats.value));
  HEADWISE_TRY(query);
  HEADWISE_TRY(key);
  HEADWISE_TRY(value);
  Operands<T> in{*std::move(query), *std::move(key), *std::move(value)};
  const auto as_extents = [&](auto& tensor) {
    const TensorView view(tensor);
    return flags.heads_first() ? as_blhd(view) : view;
  };
  const TensorView<const T, 4> q = as_extents(in.query);
  const TensorView<const T, 4> k = as_extents(in.key);
  const TensorView<const T, 4> v = as_extents(in.value);
  const auto [B, Lq, H, D] = q.extents();
  const std::size_t Dv = v.extent(3);
  auto output =
      Tensor<T, 4>::create(flags.heads_first() ? Extents<4>{B, H, Lq, Dv}
                                               : Extents<4>{B, Lq, H, Dv});
  auto attn_weights = Tensor<float, 4>::create(
      pairs_of(options, q.extents(), k.extents(), weight_heads(options, H)));
  auto scores = Tensor<float, 4>::create(
      pairs_of(options, q.extents(), k.extents(), score_heads(options, H)));
  auto lse = Tensor<float, 3>::create({B, H, Lq});
  auto rows = Tensor<float, 4>::create({B, H, Lq, 2});
  HEADWISE_TRY(output);
  HEADWISE_TRY(attn_weights);
  HEADWISE_TRY(lse);
  HEADWISE_TRY(rows);
  HEADWISE_TRY(scores);
  in.output = *std::move(output);
  HEADWISE_TRY(attention(q, k, v,
                         AttentionOutputsOf<T>{.output = as_extents(in.output),
                                               .attn_weights = *attn_weights,
                                               .lse = *lse,
                                               .softmax_rows = *rows,
                                               .scores = *scores},
                         options, operation_options));
  std::vector<NamedGradient> gradients;
  if (!flags.d_output.empty()) {
    auto found =
        operation_gradients<T>(flags, in, *rows, attn_weights->extents(),
                               batched, options, operation_options, rotation);
    HEADWISE_TRY(found);
    gradients = *std::move(found);
  }
  auto wide_output = widen<T>(std::move(in.output));
  HEADWISE_TRY(wide_output);
  return RunResult{.output_by_heads = *std::move(wide_output),
                   .output = {},
                   .attn_weights = *std::move(attn_weights),
                   .lse = *std::move(lse),
                   .gradients = std::move(gradients),
                   .scores = *std::move(scores)};
}

// The result, with the keep mask where it is asked for.
Result<RunResult> with_keep_mask(const RunFlags& flags,
                                 Result<RunResult> result,
                                 const Result<AttentionShape>& tensors,
                                 const AttentionOptions& options,
                                 const OperationOptions& operation_options) {
  if (!result || flags.keep_mask_out.empty()) {
    return result;
  }
  HEADWISE_TRY(tensors);
  const auto spec =
      AttentionSpec::create(*tensors, options, operation_options, "run");
  HEADWISE_TRY(spec);
  auto keep_mask = spec->dropout.materialize();
  HEADWISE_TRY(keep_mask);
  result->keep_mask = *std::move(keep_mask);
  return result;
}

// Of a layer, in the call's type.
template <class T>
struct LayerOperands {
  Tensor<T, 3> query;
  Tensor<T, 3> key;
  Tensor<T, 3> value;
};

template <class T>
Result<LayerOperands<T>> read_layer_operands(const InputArrays& arrays) {
  auto query = to_float<3>(arrays.query, "run", "--query");
  auto key = to_float<3>(arrays.key, "run", "--key");
  auto value = to_float<3>(arrays.value, "run", "--value");
  HEADWISE_TRY(query);
  HEADWISE_TRY(key);
  HEADWISE_TRY(value);
  auto in_query = narrow<T>(*std::move(query));
  auto in_key = narrow<T>(*std::move(key));
  auto in_value = narrow<T>(*std::move(value));
  HEADWISE_TRY(in_query);
  HEADWISE_TRY(in_key);
  HEADWISE_TRY(in_value);
  return LayerOperands<T>{*std::move(in_query), *std::move(in_key),
                          *std::move(in_value)};
}

template <class T>
Result<RunResult> run_result(MultiHeadAttentionResult<3, T> result,
                             std::vector<NamedGradient> gradients = {}) {
  auto output = widen<T>(std::move(result.output));
  HEADWISE_TRY(output);
  return RunResult{.output_by_heads = {},
                   .output = *std::move(output),
                   .attn_weights = std::move(result.attn_weights),
                   .lse = std::move(result.lse),
                   .gradients = std::move(gradients),
                   .scores = std::move(result.scores)};
}

// The gradients with those of the inputs as floats.
template <class T>
Result<MultiHeadAttentionGradients> widen_gradients(
    MultiHeadAttentionGradientsOf<T> gradients) {
  auto query = widen<T>(std::move(gradients.query));
  auto key = widen<T>(std::move(gradients.key));
  auto value = widen<T>(std::move(gradients.value));
  HEADWISE_TRY(query);
  HEADWISE_TRY(key);
  HEADWISE_TRY(value);
  MultiHeadAttentionParamGradients& of_params = gradients;
  return MultiHeadAttentionGradients{std::move(of_params), *std::move(query),
                                     *std::move(key), *std::move(value)};
}

template <class T>
Result<RunResult> run_layer_forward(const MultiHeadAttention& layer,
                                    const LayerOperands<T>& in,
                                    const AttentionOptions& options,
                                    const LayerOptions& layer_options) {
  auto result =
      layer.forward(in.query, in.key, in.value, options, layer_options);
  HEADWISE_TRY(result);
  return run_result<T>(*std::move(result));
}

template <class T>
Result<RunResult> run_layer_both_ways(const RunFlags& flags,
                                      const MultiHeadAttention& layer,
                                      const LayerOperands<T>& in, bool batched,
                                      const AttentionOptions& options,
                                      const LayerOptions& layer_options) {
  auto saved = layer.forward_for_backward(in.query, in.key, in.value, options,
                                          layer_options);
  HEADWISE_TRY(saved);
  const auto& shape = saved->result().output.extents();
  const auto files = read_upstream(flags, batched, {shape.begin(), shape.end()},
                                   saved->result().attn_weights.extents());
  HEADWISE_TRY(files);
  auto wide_d_output = to_float<3>(files->d_output, "run", "--d-output");
  HEADWISE_TRY(wide_d_output);
  const auto d_output = narrow<T>(*std::move(wide_d_output));
  HEADWISE_TRY(d_output);
  auto gradients =
      layer.backward(*saved, *d_output, files->d_attn_weights_view());
  HEADWISE_TRY(gradients);
  auto wide = widen_gradients<T>(*std::move(gradients));
  HEADWISE_TRY(wide);
  auto named_ones = named_gradients(*std::move(wide), options.bias, batched);
  HEADWISE_TRY(named_ones);
  return run_result<T>(std::move(*saved).take_result(), *std::move(named_ones));
}

template <class T>
Result<RunResult> run_layer_in(const RunFlags& flags,
                               const MultiHeadAttention& layer,
                               const InputArrays& arrays,
                               const AttentionOptions& options,
                               const LayerOptions& layer_options) {
  const auto in = read_layer_operands<T>(arrays);
  HEADWISE_TRY(in);
  return flags.d_output.empty()
             ? run_layer_forward<T>(layer, *in, options, layer_options)
             : run_layer_both_ways<T>(flags, layer, *in, arrays.batched,
                                      options, layer_options);
}

}  // namespace

Result<RunResult> run_operation(const RunFlags& flags,
                                const InputArrays& arrays,
                                const AttentionOptions& options,
                                const OperationOptions& operation_options,
                                const RotaryInputs& rotary) {
  HEADWISE_TRY(check_inputs(flags, arrays));
  auto query = to_float<4>(arrays.query, "run", "--query");
  auto key = to_float<4>(arrays.key, "run", "--key");
  auto value = to_float<4>(arrays.value, "run", "--value");
  HEADWISE_TRY(query);
  HEADWISE_TRY(key);
  HEADWISE_TRY(value);
  for (auto* tensor : {&*query, &*key, &*value}) {
    round_to(flags.dtype, tensor->elements());
  }
  const auto as_extents = [&](const auto& view) {
    return flags.heads_first() ? as_blhd(view) : view;
  };
  const auto q = as_extents(query->view());
  const auto k = as_extents(key->view());
  const auto v = as_extents(value->view());
  if (options.offsets.ragged()) {
    HEADWISE_TRY(options.offsets.check(q.extent(1), k.extent(1), "run"));
  }
  const auto tensors = attention_shape(q.extents(), k.extents(), v.extents());
  HEADWISE_TRY(tensors);
  const auto rotation =
      rotation_of(rotary, *tensors, options, operation_options);
  HEADWISE_TRY(rotation);
  HEADWISE_TRY(rotation->rotate({q, k}));
  return with_keep_mask(
      flags,
      with_dtype(flags.dtype,
                 [&](auto number) {
                   return attend_in<decltype(number)>(
                       flags,
                       {*std::move(query), *std::move(key), *std::move(value)},
                       arrays.batched, options, operation_options, *rotation);
                 }),
      *tensors, options, operation_options);
}

Result<RunResult> run_layer(const RunFlags& flags, const InputArrays& arrays,
                            const AttentionOptions& options,
                            const RotaryInputs& rotary) {
  const auto qk_norm = flags.qk_norm.norm();
  HEADWISE_TRY(qk_norm);
  auto files = read_layer(flags.params, {.num_heads = flags.num_heads,
                                         .num_kv_heads = flags.num_kv_heads,
                                         .scoring = flags.operation.scoring,
                                         .vdim = arrays.value.shape.back(),
                                         .qk_norm = *qk_norm,
                                         .choice = flags.layer.choice()});
  HEADWISE_TRY(files);
  HEADWISE_TRY(check_layer_inputs(flags, arrays, files->layer.config()));
  auto rotation = rotary.rotary(*files->layer.config().head_dim);
  HEADWISE_TRY(rotation);
  HEADWISE_TRY(files->layer.set_rotary(*std::move(rotation)));
  const LayerOptions layer_options = {.positions = rotary.positions()};
  const MultiHeadAttentionConfig& config = files->layer.config();
  auto kv_groups = HeadGroups::create(config.kv_group_sizes);
  HEADWISE_TRY(kv_groups);
  return with_keep_mask(flags,
                        with_dtype(flags.dtype,
                                   [&](auto number) {
                                     return run_layer_in<decltype(number)>(
                                         flags, files->layer, arrays, options,
                                         layer_options);
                                   }),
                        AttentionShape{.B = arrays.query.shape[0],
                                       .Hq = config.num_heads,
                                       .Hkv = *config.num_kv_heads,
                                       .Lq = arrays.query.shape[1],
                                       .Lkv = arrays.key.shape[1],
                                       .D = *config.head_dim,
                                       .Dv = *config.v_head_dim},
                        options, {.kv_groups = *std::move(kv_groups)});
}

}  // namespace headwise::cli
