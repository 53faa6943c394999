#include "run_call.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "cached_call.h"
#include "cached_layer.h"
#include "headwise/attention/backward.h"
#include "headwise/attention/forward.h"
#include "headwise/steps/offsets.h"
#include "headwise/steps/rotate_heads.h"
#include "layer_result.h"
#include "operands.h"
#include "operation/layer_params.h"
#include "operation/number_type.h"
#include "operation_gradients.h"
#include "parallel_call.h"
#include "parallel_layer.h"
#include "run_gradients.h"
#include "shell/outcome.h"
#include "shell/rank_job.h"
#include "shell/visible_work.h"

namespace headwise::cli {
namespace {

// All pairs of tensors with these sizes, for this number of heads; 0: not
// wanted.
Extents<4> pairs_of(const AttentionOptions& options, const Extents<4>& q,
                    const Extents<4>& k, const AddedKeys& added_keys,
                    std::size_t heads) {
  if (heads == 0) {
    return {};
  }
  const std::size_t added = (added_keys.bias_k.data() != nullptr ? 1U : 0U) +
                            (added_keys.zero_attn ? 1U : 0U);
  const Offsets& offsets = options.offsets;
  return offsets.ragged()
             ? Extents<4>{offsets.sequences(), heads, longest(offsets.query),
                          longest(offsets.key) + added}
             : Extents<4>{q[0], heads, q[1], k[1] + added};
}

// The rotation of the queries and keys of a call, where one is asked for.
struct Rotation {
  std::optional<Rotary> rotary;
  AttentionShape shape;  // of what is rotated: past keys were rotated before
  QueryStart query_start;
  HeadPositions positions;
  const Executor& executor;
  // What `positions` look at where there are past keys.
  Tensor<std::int64_t, 2> key_positions{};

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

// (B, L), each row counting from `start`.
Result<Tensor<std::int64_t, 2>> positions_from(std::size_t B, std::size_t L,
                                               std::size_t start) {
  auto positions = Tensor<std::int64_t, 2>::create({B, L});
  HEADWISE_TRY(positions);
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t n = 0; n < L; ++n) {
      (*positions)(b, n) = static_cast<std::int64_t>(start + n);
    }
  }
  return positions;
}

// `spec`: of the whole call, past keys included; `tensors`: without them.
Result<Rotation> rotation_of(const RotaryInputs& inputs,
                             const AttentionSpec& spec,
                             const AttentionShape& tensors,
                             const QueryStart& query_start,
                             const PastInputs& past) {
  auto rotary = inputs.rotary(tensors.D);
  HEADWISE_TRY(rotary);
  Rotation rotation{*std::move(rotary), spec.shape, query_start,
                    inputs.positions(), *spec.executor};
  if (!rotation.rotary || !past.given()) {
    return rotation;
  }
  // The whole call knows what bottom-right is.
  if (!query_start.differs_by_sequence() && tensors.B != 0) {
    rotation.query_start = query_start.of(0, spec.shape);
  }
  rotation.shape = tensors;
  HeadPositions& positions = rotation.positions;
  if (positions.key_positions.data() != nullptr) {
    return rotation;
  }
  if (rotation.rotary->positions() < spec.shape.Lkv) {
    return option_error(
        "--rotary-tables",
        fmt::format("has {} positions", rotation.rotary->positions()),
        fmt::format("at least {}", spec.shape.Lkv), ErrorCode::out_of_range);
  }
  auto of_keys = positions_from(tensors.B, tensors.Lkv, past.length());
  HEADWISE_TRY(of_keys);
  rotation.key_positions = *std::move(of_keys);
  positions.key_positions = rotation.key_positions;
  return rotation;
}

// What the backward pass reads of the forward pass in T.
template <class T>
struct ForwardOf {
  Operands<T, 4> in;      // in the layout of the files
  Tensor<T, 4> output{};  // likewise
  Tensor<float, 4> attn_weights{};
  Tensor<float, 4> softmax_rows{};
};

template <class T>
Result<std::vector<NamedGradient>> operation_gradients(
    const RunFlags& flags, const ForwardOf<T>& forward, bool batched,
    const AttentionOptions& options, const OperationOptions& operation_options,
    const Rotation& rotation) {
  const auto& shape = forward.output.extents();
  auto files = read_upstream(flags, batched, {shape.begin(), shape.end()},
                             forward.attn_weights.extents());
  HEADWISE_TRY(files);
  auto wide_d_output = to_float<4>(files->d_output, "run", "--d-output");
  HEADWISE_TRY(wide_d_output);
  const auto d_output = narrow<T>(*std::move(wide_d_output));
  HEADWISE_TRY(d_output);
  auto gradients =
      OperationGradients<T>::create(forward.in, options, operation_options);
  HEADWISE_TRY(gradients);
  const bool heads_first = flags.heads_first();
  HEADWISE_TRY(attention_backward(
      BackwardInputsOf<T>{as_extents(forward.in.query.view(), heads_first),
                          as_extents(forward.in.key.view(), heads_first),
                          as_extents(forward.in.value.view(), heads_first),
                          as_extents(forward.output.view(), heads_first),
                          forward.softmax_rows,
                          as_extents(d_output->view(), heads_first),
                          files->d_attn_weights_view()},
      gradients->views(heads_first), options, operation_options));
  auto wide = widen<T>(std::move(gradients->operands));
  HEADWISE_TRY(wide);
  HEADWISE_TRY(
      rotation.rotate_back({as_extents(wide->query.view(), heads_first),
                            as_extents(wide->key.view(), heads_first)}));
  std::vector<NamedGradient> by_name;
  by_name.push_back(named("d_query", std::move(wide->query), batched));
  by_name.push_back(named("d_key", std::move(wide->key), batched));
  by_name.push_back(named("d_value", std::move(wide->value), batched));
  std::move(*gradients).name_options(by_name);
  return by_name;
}

// The operation on tensors in T; the result is float32 again.
template <class T>
Result<RunResult> attend_in(const RunFlags& flags, Operands<float, 4> floats,
                            bool batched, const AttentionOptions& options,
                            const OperationOptions& operation_options,
                            const Rotation& rotation) {
  auto in = narrow<T>(std::move(floats));
  HEADWISE_TRY(in);
  const bool heads_first = flags.heads_first();
  const auto q = as_extents(std::as_const(in->query).view(), heads_first);
  const auto k = as_extents(std::as_const(in->key).view(), heads_first);
  const auto v = as_extents(std::as_const(in->value).view(), heads_first);
  const auto [B, Lq, H, D] = q.extents();
  const std::size_t Dv = v.extent(3);
  auto output = Tensor<T, 4>::create(heads_first ? Extents<4>{B, H, Lq, Dv}
                                                 : Extents<4>{B, Lq, H, Dv});
  const auto pairs = [&](std::size_t heads) {
    return Tensor<float, 4>::create(pairs_of(options, q.extents(), k.extents(),
                                             operation_options.added_keys,
                                             heads));
  };
  auto attn_weights = pairs(weight_heads(options, H));
  auto scores = pairs(score_heads(options, H));
  auto lse = Tensor<float, 3>::create({B, H, Lq});
  auto rows = Tensor<float, 4>::create({B, H, Lq, 2});
  HEADWISE_TRY(output);
  HEADWISE_TRY(attn_weights);
  HEADWISE_TRY(lse);
  HEADWISE_TRY(rows);
  HEADWISE_TRY(scores);
  HEADWISE_TRY(attention(
      q, k, v,
      AttentionOutputsOf<T>{.output = as_extents(output->view(), heads_first),
                            .attn_weights = *attn_weights,
                            .lse = *lse,
                            .softmax_rows = *rows,
                            .scores = *scores},
      options, operation_options));
  ForwardOf<T> forward{*std::move(in), *std::move(output),
                       *std::move(attn_weights), *std::move(rows)};
  std::vector<NamedGradient> gradients;
  if (!flags.d_output.empty()) {
    auto found = operation_gradients<T>(flags, forward, batched, options,
                                        operation_options, rotation);
    HEADWISE_TRY(found);
    gradients = *std::move(found);
  }
  auto wide_output = widen<T>(std::move(forward.output));
  HEADWISE_TRY(wide_output);
  return RunResult{.output_by_heads = *std::move(wide_output),
                   .output = {},
                   .attn_weights = std::move(forward.attn_weights),
                   .lse = *std::move(lse),
                   .gradients = std::move(gradients),
                   .scores = *std::move(scores)};
}

// In the type that was asked for.
Result<RunResult> attend(const RunFlags& flags, Operands<float, 4> in,
                         bool batched, const AttentionOptions& options,
                         const OperationOptions& operation_options,
                         const Rotation& rotation) {
  std::optional<Operands<float, 4>> present;
  if (!flags.present_dir.empty()) {
    auto copy = operands_of(Result<Tensor<float, 4>>(Tensor<float, 4>()),
                            in.key.clone(), in.value.clone());
    HEADWISE_TRY(copy);
    present = *std::move(copy);
  }
  auto result = with_dtype(flags.dtype, [&](auto number) {
    return attend_in<decltype(number)>(flags, std::move(in), batched, options,
                                       operation_options, rotation);
  });
  if (result && present) {
    result->present_key = std::move(present->key);
    result->present_value = std::move(present->value);
  }
  return result;
}

void round_all(const std::string& dtype, Operands<float, 4>& operands) {
  for (auto* tensor : {&operands.query, &operands.key, &operands.value}) {
    round_to(dtype, tensor->elements());
  }
}

// A call whose tensors are checked, rotated and joined with the past ones.
struct ReadyCall {
  Operands<float, 4> in;
  AttentionShape whole;  // of the tensors, past keys included
  AttentionSpec spec;
  Rotation rotation;
};

// Frees the arrays, which are as large as the tensors.
Result<ReadyCall> make_ready(const RunFlags& flags, InputArrays arrays,
                             const PastInputs& past,
                             const AttentionOptions& options,
                             const OperationOptions& operation_options,
                             const RotaryInputs& rotary) {
  HEADWISE_TRY(check_inputs(flags, arrays));
  auto in = read_operands<4>(arrays);
  HEADWISE_TRY(in);
  round_all(flags.dtype, *in);
  const bool heads_first = flags.heads_first();
  const auto q = as_extents(in->query.view(), heads_first);
  const auto k = as_extents(in->key.view(), heads_first);
  const auto v = as_extents(in->value.view(), heads_first);
  if (options.offsets.ragged()) {
    HEADWISE_TRY(options.offsets.check(q.extent(1), k.extent(1), "run"));
  }
  const auto tensors = attention_shape(q.extents(), k.extents(), v.extents());
  HEADWISE_TRY(tensors);
  AttentionShape whole = *tensors;
  whole.Lkv += past.length();
  const auto spec =
      AttentionSpec::create(whole, options, operation_options, "run");
  HEADWISE_TRY(spec);
  auto rotation =
      rotation_of(rotary, *spec, *tensors, options.query_start, past);
  HEADWISE_TRY(rotation);
  HEADWISE_TRY(rotation->rotate({q, k}));
  round_all(flags.dtype, *in);  // what was rotated
  auto joined = past.joined(flags, *std::move(in));
  HEADWISE_TRY(joined);
  return ReadyCall{*std::move(joined), whole, *spec, *std::move(rotation)};
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

template <class T>
Result<RunResult> run_layer_forward(const MultiHeadAttention& layer,
                                    const Operands<T, 3>& in,
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
                                      const Operands<T, 3>& in, bool batched,
                                      const AttentionOptions& options,
                                      const LayerOptions& layer_options) {
  auto saved = layer.forward_for_backward(in.query, in.key, in.value, options,
                                          layer_options);
  HEADWISE_TRY(saved);
  const auto& shape = saved->result().output.extents();
  const auto files = read_upstream(flags, batched, {shape.begin(), shape.end()},
                                   saved->result().attn_weights.extents());
  HEADWISE_TRY(files);
  const auto d_output = d_output_in<T>(*files);
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
  const auto in = narrow<T>(std::move(floats));
  HEADWISE_TRY(in);
  return flags.d_output.empty()
             ? run_layer_forward<T>(layer, *in, options, layer_options)
             : run_layer_both_ways<T>(flags, layer, *in, batched, options,
                                      layer_options);
}

}  // namespace

Result<RunResult> run_operation(const RunFlags& flags, InputArrays arrays,
                                const PastInputs& past,
                                const OperationInputs& inputs,
                                const AttentionOptions& options,
                                const RotaryInputs& rotary,
                                Communicator* group) {
  const OperationOptions operation_options = inputs.operation_options();
  const bool batched = arrays.batched;
  auto ready = work_visibly(group, [&] {
    return make_ready(flags, std::move(arrays), past, options,
                      operation_options, rotary);
  });
  if (group != nullptr) {
    HEADWISE_TRY(agreed(*group, ready ? ok() : Status(ready.error())));
  }
  HEADWISE_TRY(ready);
  if (group != nullptr) {
    auto result = attend_together(
        *group, std::move(ready->in),
        {flags, batched, options, operation_options, ready->spec,
         inputs.key_band(), [&ready](const QueriesAndKeys& gradients) {
           return ready->rotation.rotate_back(gradients);
         }});
    if (group->rank() != 0) {
      return result;
    }
    return with_keep_mask(flags, std::move(result), ready->whole, options,
                          operation_options);
  }
  return with_keep_mask(
      flags,
      flags.cache.given() ? attend_through_cache(flags, ready->in, inputs,
                                                 options, operation_options)
                          : attend(flags, std::move(ready->in), batched,
                                   options, operation_options, ready->rotation),
      ready->whole, options, operation_options);
}

namespace {

// The layer of --params, which fits the inputs.
Result<MultiHeadAttention> ready_layer(const RunFlags& flags,
                                       const InputArrays& arrays,
                                       const RotaryInputs& rotary) {
  const auto qk_norm = flags.qk_norm.norm();
  HEADWISE_TRY(qk_norm);
  auto files =
      read_layer(flags.params, {.num_heads = flags.num_heads,
                                .num_kv_heads = flags.num_kv_heads,
                                .scoring = flags.operation.scoring,
                                .vdim = arrays.value.shape.back(),
                                .qk_norm = *qk_norm,
                                .add_zero_attn = flags.operation.zero_attn,
                                .choice = flags.layer.choice()});
  HEADWISE_TRY(files);
  HEADWISE_TRY(check_layer_inputs(flags, arrays, files->layer.config()));
  auto rotation = rotary.rotary(*files->layer.config().head_dim);
  HEADWISE_TRY(rotation);
  HEADWISE_TRY(files->layer.set_rotary(*std::move(rotation)));
  if (flags.cache.given() && files->layer.config().add_bias_kv) {
    return option_error("--params " + flags.params,
                        "has bias_k, an added key, which --cache does not take",
                        "", ErrorCode::unsupported);
  }
  return std::move(files->layer);
}

}  // namespace

Result<RunResult> run_layer(const RunFlags& flags, const InputArrays& arrays,
                            const OperationInputs& inputs,
                            const AttentionOptions& options,
                            const RotaryInputs& rotary, Communicator* group) {
  auto layer =
      work_visibly(group, [&] { return ready_layer(flags, arrays, rotary); });
  if (group != nullptr) {
    HEADWISE_TRY(agreed(*group, layer ? ok() : Status(layer.error())));
  }
  HEADWISE_TRY(layer);
  auto in = work_visibly(group, [&] { return read_operands<3>(arrays); });
  if (group != nullptr) {
    HEADWISE_TRY(agreed(*group, in ? ok() : Status(in.error())));
  }
  HEADWISE_TRY(in);
  const LayerOptions layer_options = {.positions = rotary.positions()};
  const MultiHeadAttentionConfig& config = layer->config();
  auto kv_groups = HeadGroups::create(config.kv_group_sizes);
  HEADWISE_TRY(kv_groups);
  const AttentionShape tensors = {.B = arrays.query.shape[0],
                                  .Hq = config.num_heads,
                                  .Hkv = *config.num_kv_heads,
                                  .Lq = arrays.query.shape[1],
                                  .Lkv = arrays.key.shape[1],
                                  .D = *config.head_dim,
                                  .Dv = *config.v_head_dim,
                                  .kv_groups = *std::move(kv_groups)};
  const auto add_keep_mask = [&](Result<RunResult> result) {
    return with_keep_mask(
        flags, std::move(result), tensors, options,
        {.kv_groups = tensors.kv_groups, .added_keys = added_keys_of(*layer)});
  };
  if (group != nullptr) {
    // While the layer is whole.
    auto keep_mask = add_keep_mask(RunResult());
    HEADWISE_TRY(agreed(*group, keep_mask ? ok() : Status(keep_mask.error())));
    auto result =
        run_layer_together(*group, *std::move(layer), *std::move(in),
                           {flags, arrays.batched, options, layer_options});
    if (result) {
      result->keep_mask = std::move(keep_mask->keep_mask);
    }
    return result;
  }
  return add_keep_mask(
      flags.cache.given()
          ? layer_through_cache(flags, *layer, *in, inputs, options, tensors)
          : with_dtype(flags.dtype, [&](auto number) {
              return run_layer_in<decltype(number)>(
                  flags, *layer, *std::move(in), arrays.batched, options,
                  layer_options);
            }));
}

}  // namespace headwise::cli
