#include "run_call.h"

#include <optional>

#include "headwise/attention/backward.h"
#include "headwise/attention/forward.h"
#include "headwise/steps/offsets.h"
#include "headwise/steps/rotate_heads.h"
#include "operation/layer_params.h"
#include "run_gradients.h"

namespace headwise::cli {
namespace {

// The attention weights that are asked for, of tensors with these sizes.
Extents<4> attn_weights_extents(const AttentionOptions& options,
                                const TensorView<const float, 4>& q,
                                const TensorView<const float, 4>& k) {
  if (options.attn_weights == AttnWeights::none) {
    return {};
  }
  const std::size_t heads =
      options.attn_weights == AttnWeights::mean ? 1 : q.extent(2);
  const Offsets& offsets = options.offsets;
  return offsets.ragged()
             ? Extents<4>{offsets.sequences(), heads, longest(offsets.query),
                          longest(offsets.key)}
             : Extents<4>{q.extent(0), heads, q.extent(1), k.extent(1)};
}

// What the operation's backward pass reads beside its result, in the layout of
// the files.
struct Operands {
  const Tensor<float, 4>& query;
  const Tensor<float, 4>& key;
  const Tensor<float, 4>& value;
  TensorView<const float, 4> softmax_rows;
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

Result<std::vector<NamedGradient>> operation_gradients(
    const RunFlags& flags, const Operands& in, const RunResult& result,
    bool batched, const AttentionOptions& options,
    const OperationOptions& operation_options, const Rotation& rotation) {
  const auto& shape = result.output_by_heads.extents();
  auto files = read_upstream(flags, batched, {shape.begin(), shape.end()},
                             result.attn_weights.extents());
  HEADWISE_TRY(files);
  const auto d_output = to_float<4>(files->d_output, "run", "--d-output");
  auto d_query = Tensor<float, 4>::create(in.query.extents());
  auto d_key = Tensor<float, 4>::create(in.key.extents());
  auto d_value = Tensor<float, 4>::create(in.value.extents());
  auto d_bias = make_bias_gradient(options.bias);
  auto d_alibi = Tensor<float, 1>::create({options.alibi.extent(0)});
  auto d_score_weight =
      Tensor<float, 2>::create(operation_options.score_weight.extents());
  HEADWISE_TRY(d_output);
  HEADWISE_TRY(d_query);
  HEADWISE_TRY(d_key);
  HEADWISE_TRY(d_value);
  HEADWISE_TRY(d_bias);
  HEADWISE_TRY(d_alibi);
  HEADWISE_TRY(d_score_weight);
  const auto as_extents = [&](auto& tensor) {
    return flags.heads_first() ? as_blhd(tensor) : tensor;
  };
  const bool sloped = d_alibi->size() != 0;
  const bool additive = d_score_weight->size() != 0;
  HEADWISE_TRY(attention_backward(
      {as_extents(in.query), as_extents(in.key), as_extents(in.value),
       as_extents(result.output_by_heads), in.softmax_rows,
       as_extents(*d_output), files->d_attn_weights_view()},
      {as_extents(*d_query), as_extents(*d_key), as_extents(*d_value),
       d_bias->by_scores, sloped ? *d_alibi : TensorView<float, 1>(),
       additive ? *d_score_weight : TensorView<float, 2>()},
      options, operation_options));
  HEADWISE_TRY(
      rotation.rotate_back({as_extents(*d_query), as_extents(*d_key)}));
  std::vector<NamedGradient> gradients;
  gradients.push_back(named("d_query", *std::move(d_query), batched));
  gradients.push_back(named("d_key", *std::move(d_key), batched));
  gradients.push_back(named("d_value", *std::move(d_value), batched));
  if (options.bias.given()) {
    gradients.push_back(
        {"d_bias", std::move(d_bias->shape), std::move(d_bias->elements)});
  }
  if (sloped) {
    gradients.push_back(named("d_alibi", *std::move(d_alibi), true));
  }
  if (additive) {
    gradients.push_back(
        named("d_score_weight", *std::move(d_score_weight), true));
  }
  return gradients;
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

struct LayerOperands {
  TensorView<const float, 3> query;
  TensorView<const float, 3> key;
  TensorView<const float, 3> value;
};

Result<RunResult> run_layer_forward(const MultiHeadAttention& layer,
                                    const LayerOperands& in,
                                    const AttentionOptions& options,
                                    const LayerOptions& layer_options) {
  auto result =
      layer.forward(in.query, in.key, in.value, options, layer_options);
  HEADWISE_TRY(result);
  return RunResult{{},
                   std::move(result->output),
                   std::move(result->attn_weights),
                   std::move(result->lse)};
}

Result<RunResult> run_layer_both_ways(const RunFlags& flags,
                                      const MultiHeadAttention& layer,
                                      const LayerOperands& in, bool batched,
                                      const AttentionOptions& options,
                                      const LayerOptions& layer_options) {
  auto saved = layer.forward_for_backward(in.query, in.key, in.value, options,
                                          layer_options);
  HEADWISE_TRY(saved);
  const auto& shape = saved->result().output.extents();
  const auto files = read_upstream(flags, batched, {shape.begin(), shape.end()},
                                   saved->result().attn_weights.extents());
  HEADWISE_TRY(files);
  const auto d_output = to_float<3>(files->d_output, "run", "--d-output");
  HEADWISE_TRY(d_output);
  auto gradients =
      layer.backward(*saved, *d_output, files->d_attn_weights_view());
  HEADWISE_TRY(gradients);
  auto named_ones =
      named_gradients(*std::move(gradients), options.bias, batched);
  HEADWISE_TRY(named_ones);
  MultiHeadAttentionResult<3> result = std::move(*saved).take_result();
  return RunResult{{},
                   std::move(result.output),
                   std::move(result.attn_weights),
                   std::move(result.lse),
                   *std::move(named_ones)};
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
  const auto as_extents = [&](const auto& view) {
    return flags.heads_first() ? as_blhd(view) : view;
  };
  const auto q = as_extents(*query);
  const auto k = as_extents(*key);
  const auto v = as_extents(*value);
  const auto [B, Lq, H, D] = q.extents();
  const std::size_t Dv = v.extent(3);
  if (options.offsets.ragged()) {
    HEADWISE_TRY(options.offsets.check(Lq, k.extent(1), "run"));
  }
  const auto tensors = attention_shape(q.extents(), k.extents(), v.extents());
  HEADWISE_TRY(tensors);
  const auto rotation =
      rotation_of(rotary, *tensors, options, operation_options);
  HEADWISE_TRY(rotation);
  HEADWISE_TRY(
      rotation->rotate({as_extents(query->view()), as_extents(key->view())}));

  auto output =
      Tensor<float, 4>::create(flags.heads_first() ? Extents<4>{B, H, Lq, Dv}
                                                   : Extents<4>{B, Lq, H, Dv});
  auto attn_weights =
      Tensor<float, 4>::create(attn_weights_extents(options, q, k));
  auto lse = Tensor<float, 3>::create({B, H, Lq});
  auto rows = Tensor<float, 4>::create({B, H, Lq, 2});
  HEADWISE_TRY(output);
  HEADWISE_TRY(attn_weights);
  HEADWISE_TRY(lse);
  HEADWISE_TRY(rows);
  HEADWISE_TRY(attention(q, k, v,
                         AttentionOutputs{as_extents(output->view()),
                                          attn_weights->view(), *lse, *rows},
                         options, operation_options));
  RunResult result{
      *std::move(output), {}, *std::move(attn_weights), *std::move(lse)};
  if (!flags.d_output.empty()) {
    auto gradients = operation_gradients(flags, {*query, *key, *value, *rows},
                                         result, arrays.batched, options,
                                         operation_options, *rotation);
    HEADWISE_TRY(gradients);
    result.gradients = *std::move(gradients);
  }
  return with_keep_mask(flags, std::move(result), *tensors, options,
                        operation_options);
}

Result<RunResult> run_layer(const RunFlags& flags, const InputArrays& arrays,
                            const AttentionOptions& options,
                            const RotaryInputs& rotary) {
  auto files = read_layer(flags.params, {.num_heads = flags.num_heads,
                                         .num_kv_heads = flags.num_kv_heads,
                                         .scoring = flags.operation.scoring,
                                         .vdim = arrays.value.shape.back(),
                                         .choice = flags.layer.choice()});
  HEADWISE_TRY(files);
  HEADWISE_TRY(check_layer_inputs(flags, arrays, files->layer.config()));
  auto rotation = rotary.rotary(*files->layer.config().head_dim);
  HEADWISE_TRY(rotation);
  HEADWISE_TRY(files->layer.set_rotary(*std::move(rotation)));
  const LayerOptions layer_options = {.positions = rotary.positions()};
  const auto query = to_float<3>(arrays.query, "run", "--query");
  const auto key = to_float<3>(arrays.key, "run", "--key");
  const auto value = to_float<3>(arrays.value, "run", "--value");
  HEADWISE_TRY(query);
  HEADWISE_TRY(key);
  HEADWISE_TRY(value);
  const LayerOperands in{*query, *key, *value};
  const MultiHeadAttentionConfig& config = files->layer.config();
  auto kv_groups = HeadGroups::create(config.kv_group_sizes);
  HEADWISE_TRY(kv_groups);
  return with_keep_mask(
      flags,
      flags.d_output.empty()
          ? run_layer_forward(files->layer, in, options, layer_options)
          : run_layer_both_ways(flags, files->layer, in, arrays.batched,
                                options, layer_options),
      AttentionShape{.B = in.query.extent(0),
                     .Hq = config.num_heads,
                     .Hkv = *config.num_kv_heads,
                     .Lq = in.query.extent(1),
                     .Lkv = in.key.extent(1),
                     .D = *config.head_dim,
                     .Dv = *config.v_head_dim},
      options, {.kv_groups = *std::move(kv_groups)});
}

}  // namespace headwise::cli
