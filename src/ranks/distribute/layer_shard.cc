#include "headwise/distribute/layer_shard.h"

#include <string>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "distribute/call_digest.h"
#include "distribute/checked_heads.h"
#include "distribute/checked_layer.h"
#include "distribute/gather_parts.h"
#include "distribute/layer_shard_run.h"
#include "distribute/or_abort.h"
#include "distribute/rank_tensors.h"
#include "distribute/visible_work.h"
#include "module/layer_call.h"

namespace headwise::inline HEADWISE_ABI {

Result<LayerShard> LayerShard::create(const MultiHeadAttention& layer,
                                      std::size_t ranks, std::size_t rank,
                                      const LayerShardOptions& options) try {
  HEADWISE_ASSIGN(auto parts,
                  parts_of_layer(layer, ranks, rank, options.training));
  return LayerShard(
      std::make_unique<LayerShardState>(LayerShardState{std::move(parts)}));
} catch (...) {
  return caught_out_of_memory();
}

const MultiHeadAttentionConfig& LayerShard::config() const {
  return state_->parts.whole.config;
}
std::size_t LayerShard::parameter_bytes() const {
  return state_->parts.bytes();
}

namespace {

// Views that only have extents.
template <class T>
LayerInputs sizes_of(const LayerInputsOf<T>& inputs) {
  return {{nullptr, inputs.query.extents()},
          {nullptr, inputs.key.extents()},
          {nullptr, inputs.value.extents()}};
}

// ---- The forward pass ----

template <class T>
struct ShardCall {
  LayerInputsOf<T> inputs;
  AttentionOptions options;  // of the whole call, with the layer's dropout
  LayerOptions layer_options;
  bool for_backward;
};

template <class T>
ShardCall<T> call_of(const LayerParts& parts, const LayerInputsOf<T>& inputs,
                     const AttentionOptions& options,
                     const LayerOptions& layer_options, bool for_backward) {
  return {inputs,
          options_of(parts.whole, {.inputs = {},
                                   .options = options,
                                   .layer_options = layer_options}),
          layer_options, for_backward};
}

// What a division by heads cannot do.
Status check_divided(const LayerParts& parts, const AttentionSpec& spec,
                     const LayerOptions& layer_options, bool for_backward) {
  if (layer_options.cache != nullptr) {
    return value_error(kShardOperation, "cache", "given",
                       "none in a call of several ranks",
                       ErrorCode::unsupported);
  }
  if (!for_backward) {
    return ok();
  }
  if (!parts.trains()) {
    return value_error(kShardOperation, "training", "false",
                       "true for a backward pass");
  }
  return spec.bias.given() && spec.bias.extents()[1] != spec.shape.Hq
             ? Status(value_error(kShardOperation, "bias",
                                  "shared by the heads",
                                  "one for each head: its gradient is a sum "
                                  "over the heads of all ranks",
                                  ErrorCode::unsupported))
             : ok();
}

template <class T>
Result<AttentionSpec> checked_spec(const LayerParts& parts,
                                   const Communicator& group,
                                   const ShardCall<T>& call) {
  HEADWISE_TRY(check_group(kShardOperation, group, parts.ranks, parts.rank));
  HEADWISE_TRY(check_inputs(parts.whole, sizes_of(call.inputs)));
  HEADWISE_TRY(check_layer_options(parts.whole, call.layer_options));
  HEADWISE_TRY(check_options_by_heads(kShardOperation, call.options, {}));
  HEADWISE_ASSIGN(
      auto spec,
      AttentionSpec::create(
          shape_of(parts.whole.config, call.inputs.query.extent(0),
                   call.inputs.query.extent(1), call.inputs.key.extent(1)),
          call.options, operation_options_of(parts.whole), kLayerOperation));
  if (call.for_backward) {
    HEADWISE_TRY(check_training_dropout(call.options.dropout));
  }
  HEADWISE_TRY(
      check_divided(parts, spec, call.layer_options, call.for_backward));
  return spec;
}

template <class T>
std::string layer_description(const LayerParts& parts,
                              const AttentionSpec& spec,
                              const ShardCall<T>& call) {
  Digest digest;
  add_layer(parts.whole.config, digest);
  for (const std::size_t more :
       {std::size_t{call.layer_options.head_gates.data() != nullptr},
        static_cast<std::size_t>(spec.attn_weights),
        static_cast<std::size_t>(spec.scores),
        std::size_t{call.for_backward}}) {
    digest.add(more);
  }
  return describe_call(name_of(DTypeOf<T>::value), spec, undivided(spec.mask),
                       digest);
}

// The rank's heads of a call.
template <class T>
struct OwnCall {
  internal::OptionsOfPart options;
  LayerOptions layer_options;
  LayerInputsOf<T> inputs;
};

template <class T>
Result<OwnCall<T>> own_call(const LayerParts& parts, const AttentionSpec& spec,
                            const ShardCall<T>& call) {
  const PartRange& heads = parts.ranges.heads[parts.rank];
  const PartRange& kv_heads = parts.ranges.kv_heads[parts.rank];
  OwnCall<T> own{{call.options, {}, {}}, call.layer_options, call.inputs};
  if (heads.count != 0) {
    CallPart part = internal::whole_call(spec.shape);
    part.heads = heads;
    part.kv_heads = kv_heads;
    HEADWISE_ASSIGN(own.options,
                    internal::options_of_part(spec.shape, call.options,
                                              operation_options_of(parts.whole),
                                              part, kLayerOperation));
  }
  own.layer_options.head_gates =
      part_along(0, call.layer_options.head_gates, heads);
  if (!parts.whole.config.value_proj) {
    const std::size_t Dv = spec.shape.Dv;
    own.inputs.value = part_along(2, call.inputs.value,
                                  {kv_heads.first * Dv, kv_heads.count * Dv});
  }
  return own;
}

template <class T>
struct ShardRun {
  MultiHeadAttentionResult<3, T> result;
  Hidden<detail::SavedShard> saved;
};

// Attention weights or scores of a rank. The layer of a rank without heads does
// not know that the others have added keys.
Tensor<float, 4> of_own_heads(Tensor<float, 4>& pairs,
                              const AttentionSpec& spec) {
  Extents<4> extents = pairs.extents();
  if (extents[1] == 0 && extents[2] != 0) {
    extents[3] = spec.pair_columns();
  }
  return std::move(pairs).with_extents(extents);
}

template <class T>
class ShardForward {
 public:
  ShardForward(Communicator& group, const LayerShardState& shard)
      : group_(group), shard_(shard), parts_(shard.parts) {}

  Result<ShardRun<T>> run(const ShardCall<T>& call) const {
    group_.set_step(kShardOperation, "the start");
    const auto spec = checked_spec(parts_, group_, call);
    HEADWISE_TRY(group_.agree(spec ? ok() : Status(spec.error())));
    HEADWISE_TRY(
        group_.check_same("the call", layer_description(parts_, *spec, call)));
    HEADWISE_ASSIGN(auto own, own_call(parts_, *spec, call));
    const Executor& executor = executor_of(call.options);
    HEADWISE_ASSIGN(auto inputs, WidenedInputs::create(own.inputs, executor));
    auto run = work_visibly(group_, [&] {
      return run_layer(parts_.own, {.inputs = inputs.views(),
                                    .options = own.options.options,
                                    .layer_options = own.layer_options,
                                    .for_backward = call.for_backward});
    });
    // Such as one of positions, of which checked_spec() knows nothing.
    HEADWISE_TRY(group_.agree(run ? ok() : Status(run.error())));
    group_.set_step(kShardOperation, "gathering contexts");
    HEADWISE_ASSIGN(
        auto merged,
        PartGathering<3>(group_,
                         in_features(parts_.ranges.heads, spec->shape.Dv), 2)
            .to_all(run->result.output));
    HEADWISE_ASSIGN(auto lse, PartGathering<3>(group_, parts_.ranges.heads, 1)
                                  .to_all(run->result.lse));
    HEADWISE_ASSIGN(auto output,
                    output_of(merged, executor, call.for_backward));
    HEADWISE_ASSIGN(auto narrowed, narrow<T>(std::move(output), executor));
    ShardRun<T> done{
        {std::move(narrowed), of_own_heads(run->result.attn_weights, *spec),
         std::move(lse), of_own_heads(run->result.scores, *spec)},
        {}};
    if (call.for_backward) {
      HEADWISE_TRY(round_output(run->result.output, executor));
      done.saved = std::make_unique<detail::SavedShard>(
          detail::SavedShard{&shard_, std::move(inputs), std::move(own.options),
                             *std::move(run), std::move(merged)});
    }
    return done;
  }

 private:
  // Without a w_o the backward pass begins with the output as it is returned
  // (docs/arithmetic.md, "16-bit tensors").
  Status round_output(Tensor<float, 3>& own, const Executor& executor) const {
    if constexpr (!std::is_same_v<T, float>) {
      if (!parts_.w_o) {
        HEADWISE_ASSIGN(const auto narrowed,
                        narrow<T>(std::move(own), executor));
        HEADWISE_ASSIGN(own, widen(narrowed.view(), executor));
      }
    }
    return ok();
  }

  // Without a w_o `merged` itself, of which the backward pass needs a copy.
  Result<Tensor<float, 3>> output_of(Tensor<float, 3>& merged,
                                     const Executor& executor,
                                     bool for_backward) const {
    if (!parts_.w_o) {
      return for_backward ? merged.clone()
                          : Result<Tensor<float, 3>>(std::move(merged));
    }
    const auto own = work_visibly(group_, [&] {
      return parts_.w_o->forward(std::as_const(merged).view(), "merged",
                                 executor);
    });
    HEADWISE_TRY(own);
    group_.set_step(kShardOperation, "gathering outputs");
    return PartGathering<3>(group_, parts_.ranges.outputs, 2).to_all(*own);
  }

  Communicator& group_;
  const LayerShardState& shard_;
  const LayerParts& parts_;
};

// ---- Each of them for each type ----

Status check_saved(const LayerShardState& shard,
                   const detail::SavedShard* saved) {
  if (saved == nullptr) {
    return value_error(kShardOperation, "saved", "used already",
                       "one of forward_for_backward() for each backward()");
  }
  return saved->shard == &shard
             ? ok()
             : Status(value_error(kShardOperation, "saved", "of another shard",
                                  "one of this shard"));
}

template <class T>
Result<ShardRun<T>> forward_of(Communicator& group,
                               const LayerShardState& shard,
                               const LayerInputsOf<T>& inputs,
                               const AttentionOptions& options,
                               const LayerOptions& layer_options,
                               bool for_backward) {
  return or_abort(group, [&] {
    return ShardForward<T>(group, shard)
        .run(call_of<T>(shard.parts, inputs, options, layer_options,
                        for_backward));
  });
}

template <class T>
Result<MultiHeadAttentionGradientsOf<T>> backward_of(
    Communicator& group, const LayerShardState& shard,
    const detail::SavedShard* saved,
    const MultiHeadAttentionResult<3, T>& result,
    TensorView<const T, 3> d_output,
    TensorView<const float, 4> d_attn_weights) {
  return or_abort(group, [&]() -> Result<MultiHeadAttentionGradientsOf<T>> {
    group.set_step(kShardOperation, "the start");
    Status own = check_group(kShardOperation, group, shard.parts.ranks,
                             shard.parts.rank);
    own = own ? check_saved(shard, saved) : own;
    own = own ? check_shape(kShardOperation, "d_output", d_output.extents(),
                            "(B, Lq, E)", result.output.extents())
              : own;
    own = own && d_attn_weights.data() != nullptr
              ? check_shape(kShardOperation, "d_attn_weights",
                            d_attn_weights.extents(),
                            "(B, heads of the rank, Lq, Lkv)",
                            result.attn_weights.extents())
              : own;
    HEADWISE_TRY(group.agree(own));
    const Executor& executor = executor_of(saved->run.options);
    HEADWISE_ASSIGN(const auto wide, Widened::create(d_output, executor));
    HEADWISE_ASSIGN(auto found, differentiate_shard(group, *saved, wide.view(),
                                                    d_attn_weights));
    return narrow_gradients<T>(std::move(found), executor);
  });
}

}  // namespace

#define HEADWISE_SHARD(T)                                                     \
  Result<MultiHeadAttentionResult<3, T>> LayerShard::forward(                 \
      Communicator& group, TensorView<const T, 3> query,                      \
      TensorView<const T, 3> key, TensorView<const T, 3> value,               \
      const AttentionOptions& options, const LayerOptions& layer_options)     \
      const {                                                                 \
    auto run = forward_of<T>(group, *state_, {query, key, value}, options,    \
                             layer_options, false);                           \
    HEADWISE_TRY(run);                                                        \
    return std::move(run->result);                                            \
  }                                                                           \
  Result<LayerShardSavedOf<T>> LayerShard::forward_for_backward(              \
      Communicator& group, TensorView<const T, 3> query,                      \
      TensorView<const T, 3> key, TensorView<const T, 3> value,               \
      const AttentionOptions& options, const LayerOptions& layer_options)     \
      const {                                                                 \
    auto run = forward_of<T>(group, *state_, {query, key, value}, options,    \
                             layer_options, true);                            \
    HEADWISE_TRY(run);                                                        \
    LayerShardSavedOf<T> saved;                                               \
    saved.result_ = std::move(run->result);                                   \
    saved.state_ = std::move(run->saved);                                     \
    return saved;                                                             \
  }                                                                           \
  Result<MultiHeadAttentionGradientsOf<T>> LayerShard::backward(              \
      Communicator& group, LayerShardSavedOf<T>& saved,                       \
      TensorView<const T, 3> d_output,                                        \
      TensorView<const float, 4> d_attn_weights) const {                      \
    auto gradients = backward_of<T>(group, *state_, saved.state_.get(),       \
                                    saved.result_, d_output, d_attn_weights); \
    HEADWISE_TRY(gradients);                                                  \
    saved.state_.reset();                                                     \
    return gradients;                                                         \
  }
HEADWISE_SHARD(float)
HEADWISE_SHARD(BFloat16)
HEADWISE_SHARD(Float16)
#undef HEADWISE_SHARD

Result<MultiHeadAttentionParamGradients> LayerShard::gather(
    Communicator& group, MultiHeadAttentionParamGradients own) const {
  return or_abort(group, [&]() -> Result<MultiHeadAttentionParamGradients> {
    HEADWISE_TRY(check_group(kShardOperation, group, state_->parts.ranks,
                             state_->parts.rank));
    return gather_gradients(group, state_->parts, std::move(own));
  });
}

}  // namespace headwise::inline HEADWISE_ABI
