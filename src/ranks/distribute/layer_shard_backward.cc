// The backward pass of a layer whose heads are divided.
#include <cstdint>
#include <utility>

#include "distribute/feature_shares.h"
#include "distribute/gather_parts.h"
#include "distribute/layer_shard_run.h"
#include "distribute/visible_work.h"
#include "headwise/steps/norm_heads.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

class ShardBackward {
 public:
  ShardBackward(Communicator& group, const detail::SavedShard& saved,
                TensorView<const float, 4> d_attn_weights)
      : group_(group),
        parts_(saved.shard->parts),
        config_(parts_.whole.config),
        saved_(saved),
        d_attn_weights_(d_attn_weights),
        executor_(executor_of(saved.run.options)) {}

  Result<MultiHeadAttentionGradients> run(
      TensorView<const float, 3> d_output) const {
    group_.set_step(kShardOperation, "the heads' gradients");
    HEADWISE_ASSIGN(auto back, work_visibly(group_, [&] {
                      return through_heads(d_output);
                    }));
    MultiHeadAttentionGradients& gradients = back.gradients;
    HEADWISE_TRY(add_output_projection(d_output, gradients));
    group_.set_step(kShardOperation, "gathering the gradients of heads");
    HEADWISE_ASSIGN(auto projected, of_all_heads(back.normed, gradients));
    HEADWISE_TRY(add_projections(projected, gradients));
    return std::move(gradients);
  }

 private:
  // Of the rank's heads.
  Result<HeadsBackward> through_heads(
      TensorView<const float, 3> d_output) const {
    const LayerRun& run = saved_.run;
    if (parts_.own.config.num_heads == 0) {
      return no_heads();
    }
    const auto features =
        in_features(parts_.ranges.heads, *config_.v_head_dim)[parts_.rank];
    const SavedRun saved = {saved_.inputs.views(), run, run.result.output};
    if (!parts_.columns->w_o) {
      return differentiate_heads(parts_.own, saved,
                                 part_along(2, d_output, features),
                                 d_attn_weights_);
    }
    HEADWISE_ASSIGN(const auto d_merged, parts_.columns->w_o->forward(
                                             d_output, "d_output", executor_));
    return differentiate_heads(parts_.own, saved, d_merged.view(),
                               d_attn_weights_);
  }

  Result<HeadsBackward> no_heads() const {
    const LayerInputs inputs = saved_.inputs.views();
    const auto none = [](TensorView<const float, 3> x) {
      return Tensor<float, 3>::create({x.extent(0), x.extent(1), 0});
    };
    HEADWISE_ASSIGN(auto query, none(inputs.query));
    HEADWISE_ASSIGN(auto key, none(inputs.key));
    HEADWISE_ASSIGN(auto value, none(inputs.value));
    HeadsBackward back;
    back.normed = {std::move(query), std::move(key), std::move(value)};
    return back;
  }

  Status add_output_projection(TensorView<const float, 3> d_output,
                               MultiHeadAttentionGradients& gradients) const {
    if (!parts_.w_o) {
      return ok();
    }
    HEADWISE_ASSIGN(gradients.w_o, work_visibly(group_, [&] {
                      return gradients_of_features(
                          saved_.merged.view(), d_output,
                          parts_.ranges.outputs[parts_.rank], parts_.bias_o,
                          config_.arithmetic, saved_.run.options.offsets.query,
                          executor_);
                    }));
    return ok();
  }

  // The gradients of all that was projected, from those of the rank's heads.
  // The sums over heads that a norm's parameters may need begin here.
  Result<Projected> of_all_heads(const Projected& normed,
                                 MultiHeadAttentionGradients& gradients) const {
    const std::size_t D = *config_.head_dim;
    const std::vector<PartRange> of_heads = in_features(parts_.ranges.heads, D);
    const std::vector<PartRange> of_kv_heads =
        in_features(parts_.ranges.kv_heads, D);
    HEADWISE_ASSIGN(auto query,
                    PartGathering<3>(group_, of_heads, 2).to_all(normed.query));
    HEADWISE_ASSIGN(
        auto key, PartGathering<3>(group_, of_kv_heads, 2).to_all(normed.key));
    HEADWISE_ASSIGN(
        auto value,
        PartGathering<3>(
            group_, in_features(parts_.ranges.kv_heads, *config_.v_head_dim), 2)
            .to_all(normed.value));
    if (config_.qk_norm) {
      const Offsets& offsets = saved_.run.options.offsets;
      const Projected& projected = saved_.run.projected;
      HEADWISE_ASSIGN(auto q_norm,
                      through_norm(*parts_.whole.params->q_norm, of_heads,
                                   config_.num_heads, projected.query, query,
                                   offsets.query));
      HEADWISE_ASSIGN(
          auto k_norm,
          through_norm(*parts_.whole.params->k_norm, of_kv_heads,
                       *config_.num_kv_heads, projected.key, key, offsets.key));
      gradients.q_norm = std::move(q_norm);
      gradients.k_norm = std::move(k_norm);
    }
    return Projected{std::move(query), std::move(key), std::move(value)};
  }

  // In place, on every rank: it is little work.
  Result<HeadNormGradients> through_norm(
      const HeadNormParams& params, const std::vector<PartRange>& features,
      std::size_t heads, const Tensor<float, 3>& own_x, Tensor<float, 3>& d_y,
      TensorView<const std::int64_t, 1> offsets) const {
    // A rank without heads has projected nothing.
    HEADWISE_ASSIGN(const auto none, Tensor<float, 3>::create(
                                         {d_y.extent(0), d_y.extent(1), 0}));
    HEADWISE_ASSIGN(
        auto all, PartGathering<3>(group_, features, 2)
                      .to_all(features[parts_.rank].count == 0 ? none : own_x));
    const TensorView<float, 4> d = in_heads(d_y.view(), heads);
    return norm_heads_backward(*config_.qk_norm, params,
                               in_heads(all.view(), heads), d, d, offsets,
                               executor_);
  }

  // The gradients by an input and by the rank's rows of its projection.
  struct OfProjection {
    Tensor<float, 3> x;
    LinearGradients params;
  };
  Result<OfProjection> through(
      const Linear& columns, const std::vector<PartRange>& inputs,
      const PartRange& rows, bool with_bias, TensorView<const float, 3> x,
      TensorView<const float, 3> d_y,
      TensorView<const std::int64_t, 1> offsets) const {
    HEADWISE_ASSIGN(const auto own, work_visibly(group_, [&] {
                      return columns.forward(d_y, "d_output", executor_);
                    }));
    HEADWISE_ASSIGN(auto d_x, PartGathering<3>(group_, inputs, 2).to_all(own));
    auto params = work_visibly(group_, [&] {
      return gradients_of_features(x, d_y, rows, with_bias, config_.arithmetic,
                                   offsets, executor_);
    });
    HEADWISE_TRY(params);
    return OfProjection{std::move(d_x), *std::move(params)};
  }

  Status add_projections(Projected& d_projected,
                         MultiHeadAttentionGradients& gradients) const {
    const LayerColumns& columns = *parts_.columns;
    const LayerRanges& ranges = parts_.ranges;
    const LayerInputs inputs = saved_.inputs.views();
    const Offsets& offsets = saved_.run.options.offsets;
    const std::size_t D = *config_.head_dim;
    group_.set_step(kShardOperation, "the gradients of query, key and value");
    HEADWISE_ASSIGN(
        auto query,
        through(columns.w_q, ranges.query,
                in_features(ranges.heads, D)[parts_.rank], parts_.bias_q,
                inputs.query, d_projected.query.view(), offsets.query));
    HEADWISE_ASSIGN(
        auto key,
        through(columns.w_k, ranges.key,
                in_features(ranges.kv_heads, D)[parts_.rank], parts_.bias_k,
                inputs.key, d_projected.key.view(), offsets.key));
    gradients.query = std::move(query.x);
    gradients.w_q = std::move(query.params);
    gradients.key = std::move(key.x);
    gradients.w_k = std::move(key.params);
    if (!columns.w_v) {
      gradients.value = std::move(d_projected.value);
      return ok();
    }
    HEADWISE_ASSIGN(
        auto value,
        through(*columns.w_v, ranges.value,
                in_features(ranges.kv_heads, *config_.v_head_dim)[parts_.rank],
                parts_.bias_v, inputs.value, d_projected.value.view(),
                offsets.key));
    gradients.value = std::move(value.x);
    gradients.w_v = std::move(value.params);
    return ok();
  }

  Communicator& group_;
  const LayerParts& parts_;
  const MultiHeadAttentionConfig& config_;
  const detail::SavedShard& saved_;
  TensorView<const float, 4> d_attn_weights_;
  const Executor& executor_;
};

}  // namespace

Result<MultiHeadAttentionGradients> differentiate_shard(
    Communicator& group, const detail::SavedShard& saved,
    TensorView<const float, 3> d_output,
    TensorView<const float, 4> d_attn_weights) {
  return ShardBackward(group, saved, d_attn_weights).run(d_output);
}

Result<MultiHeadAttentionParamGradients> gather_gradients(
    Communicator& group, const LayerParts& parts,
    MultiHeadAttentionParamGradients own) {
  group.set_step(kShardOperation, "gathering the gradients of parameters");
  const MultiHeadAttentionConfig& config = parts.whole.config;
  const LayerRanges& ranges = parts.ranges;
  const auto gather = [&]<std::size_t Rank>(Tensor<float, Rank>& part,
                                            const std::vector<PartRange>& from,
                                            std::size_t axis) -> Status {
    HEADWISE_ASSIGN(part,
                    PartGathering<Rank>(group, from, axis).to_first(part));
    return ok();
  };
  const auto rows = [&](LinearGradients& of,
                        const std::vector<PartRange>& from) -> Status {
    HEADWISE_TRY(gather(of.weight, from, 0));
    return gather(of.bias, from, 0);
  };
  const auto queries = in_features(ranges.heads, *config.head_dim);
  const auto keys = in_features(ranges.kv_heads, *config.head_dim);
  const auto values = in_features(ranges.kv_heads, *config.v_head_dim);
  HEADWISE_TRY(rows(own.w_q, queries));
  HEADWISE_TRY(rows(own.w_k, keys));
  HEADWISE_TRY(rows(own.w_v, values));
  if (own.w_o) {
    HEADWISE_TRY(rows(*own.w_o, ranges.outputs));
  }
  HEADWISE_TRY(gather(own.bias, ranges.heads, 1));
  HEADWISE_TRY(gather(own.t5_bias, ranges.heads, 1));
  HEADWISE_TRY(gather(own.alibi, ranges.heads, 0));
  HEADWISE_TRY(gather(own.sinks, ranges.heads, 0));
  HEADWISE_TRY(gather(own.w_score, ranges.heads, 0));
  HEADWISE_TRY(gather(own.head_gates, ranges.heads, 1));
  HEADWISE_TRY(gather(own.bias_k, keys, 0));
  HEADWISE_TRY(gather(own.bias_v, values, 0));
  return group.rank() == 0 ? std::move(own)
                           : MultiHeadAttentionParamGradients();
}

}  // namespace headwise::inline HEADWISE_ABI
