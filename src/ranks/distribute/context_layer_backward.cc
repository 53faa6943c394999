// The backward pass of a layer whose tokens are divided.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "distribute/checked_layer.h"
#include "distribute/feature_shares.h"
#include "distribute/gather_parts.h"
#include "distribute/gather_rows.h"
#include "distribute/or_abort.h"
#include "distribute/project_rows.h"
#include "distribute/visible_work.h"
#include "headwise/distribute/context_attention.h"
#include "headwise/steps/norm_heads.h"
#include "module/head_gradients.h"
#include "module/layer_moves.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kContextLayerBackward = "context_layer_backward";

// What a token of the call is.
enum class Of { queries, keys };

class LayerRowsBackward {
 public:
  LayerRowsBackward(Communicator& group, const MultiHeadAttention& layer,
                    const ContextLayerCall& call, const CheckedLayer& all,
                    const ContextLayerInputs& own, const ContextLayerRun& run)
      : group_(group),
        config_(layer.config()),
        params_(*layer.params()),
        call_(call),
        all_(all),
        own_(own),
        run_(run) {}

  Result<MultiHeadAttentionGradients> run(
      TensorView<const float, 3> d_output) const {
    MultiHeadAttentionGradients gradients;
    HEADWISE_ASSIGN(auto d_heads, through_operation(d_output, gradients));
    HEADWISE_TRY(through_rotation(d_heads));
    HEADWISE_TRY(through_norms(d_heads, gradients));
    HEADWISE_TRY(through_projections(d_heads, gradients));
    group_.set_step(kContextLayerBackward, "the gradients of parameters");
    HEADWISE_TRY(add_params(d_heads, gradients));
    return params_.w_o
               ? add_output_params(d_output, std::move(gradients))
               : Result<MultiHeadAttentionGradients>(std::move(gradients));
  }

 private:
  // By queries and keys as they were compared, and by values. The gradients of
  // the options, on rank 0, go to `gradients`.
  Result<Projected> through_operation(
      TensorView<const float, 3> d_output,
      MultiHeadAttentionGradients& gradients) const {
    group_.set_step(kContextLayerBackward, "the output projection");
    std::optional<Tensor<float, 3>> d_merged;
    if (params_.w_o) {
      auto found = work_visibly(group_, [&] {
        return params_.w_o->backward_input(d_output, "d_output",
                                           all_.executor());
      });
      HEADWISE_TRY(found);
      d_merged = *std::move(found);
    }
    const AttentionShape shape = own_shape(all_, group_.rank());
    const auto value = params_.w_v ? run_.value.view() : own_.value;
    HEADWISE_ASSIGN(auto d_heads,
                    make_gradients({run_.query.extents(), run_.key.extents(),
                                    value.extents()},
                                   all_.context.spec));
    AttentionGradients views = views_of(d_heads, all_.context.spec);
    if (group_.rank() != 0) {
      views = {.query = views.query, .key = views.key, .value = views.value};
    }
    const AttentionInputsOf<float> compared = compared_heads(shape, own_, run_);
    const Tensor<float, 3>& merged =
        params_.w_o ? run_.merged : run_.result.output;
    HEADWISE_TRY(context_attention_backward(
        group_, all_.operation,
        {compared.query, compared.key, compared.value,
         in_heads(merged.view(), shape.Hq), run_.softmax_rows.view(),
         in_heads(d_merged ? std::as_const(*d_merged).view() : d_output,
                  shape.Hq)},
        views));
    Projected d_projected = std::move(d_heads.projected);
    if (group_.rank() == 0) {
      move_options(std::move(d_heads), gradients);
    }
    return d_projected;
  }

  Status through_rotation(Projected& d_compared) const {
    if (!config_.rotary) {
      return ok();
    }
    HEADWISE_ASSIGN(const auto positions,
                    own_positions(all_, group_.rank(), call_.positions));
    const AttentionShape shape = own_shape(all_, group_.rank());
    return rotate_heads_back(*config_.rotary,
                             {in_heads(d_compared.query.view(), shape.Hq),
                              in_heads(d_compared.key.view(), shape.Hkv)},
                             shape, {}, positions.views(), all_.executor());
  }

  Status through_norms(Projected& d_normed,
                       MultiHeadAttentionGradients& gradients) const {
    if (!config_.qk_norm) {
      return ok();
    }
    group_.set_step(kContextLayerBackward, "the gradients of norms");
    HEADWISE_TRY(through_norm(Of::queries, *params_.q_norm, config_.num_heads,
                              run_.query, d_normed.query, gradients.q_norm));
    return through_norm(Of::keys, *params_.k_norm, *config_.num_kv_heads,
                        run_.key, d_normed.key, gradients.k_norm);
  }

  // In place. The gradients of its parameters are sums over all tokens, which
  // rank 0 alone gets.
  Status through_norm(Of of, const HeadNormParams& params, std::size_t heads,
                      const Tensor<float, 3>& x, Tensor<float, 3>& d_y,
                      std::optional<HeadNormGradients>& of_params) const {
    HEADWISE_ASSIGN(auto all_x, all_tokens_on_first(of, x));
    HEADWISE_ASSIGN(auto all_d_y, all_tokens_on_first(of, d_y));
    const auto back = [&](const Tensor<float, 3>& from, Tensor<float, 3>& d,
                          TensorView<const std::int64_t, 1> offsets) {
      return work_visibly(group_, [&] {
        const TensorView<float, 4> in_place = in_heads(d.view(), heads);
        return norm_heads_backward(*config_.qk_norm, params,
                                   in_heads(from.view(), heads), in_place,
                                   in_place, offsets, all_.executor());
      });
    };
    if (group_.rank() == 0) {
      HEADWISE_ASSIGN(of_params, back(all_x, all_d_y, offsets(of)));
    }
    HEADWISE_TRY(back(x, d_y, {}));
    return ok();
  }

  Status through_projections(const Projected& d_projected,
                             MultiHeadAttentionGradients& gradients) const {
    group_.set_step(kContextLayerBackward,
                    "the gradients of query, key and value");
    const auto back = [&](const Linear& linear, const Tensor<float, 3>& d_y,
                          Tensor<float, 3>& d_x) -> Status {
      HEADWISE_ASSIGN(d_x, work_visibly(group_, [&] {
                        return linear.backward_input(d_y.view(), "d_output",
                                                     all_.executor());
                      }));
      return ok();
    };
    HEADWISE_TRY(back(params_.w_q, d_projected.query, gradients.query));
    HEADWISE_TRY(back(params_.w_k, d_projected.key, gradients.key));
    if (params_.w_v) {
      return back(*params_.w_v, d_projected.value, gradients.value);
    }
    HEADWISE_ASSIGN(gradients.value, d_projected.value.clone());
    return ok();
  }

  Status add_params(const Projected& d_projected,
                    MultiHeadAttentionGradients& gradients) const {
    HEADWISE_TRY(add_projection(Of::queries, params_.w_q, own_.query,
                                d_projected.query.view(), gradients.w_q));
    HEADWISE_TRY(add_projection(Of::keys, params_.w_k, own_.key,
                                d_projected.key.view(), gradients.w_k));
    return params_.w_v ? add_projection(Of::keys, *params_.w_v, own_.value,
                                        d_projected.value.view(), gradients.w_v)
                       : ok();
  }
  Result<MultiHeadAttentionGradients> add_output_params(
      TensorView<const float, 3> d_output,
      MultiHeadAttentionGradients gradients) const {
    gradients.w_o.emplace();
    HEADWISE_TRY(add_projection(Of::queries, *params_.w_o, run_.merged.view(),
                                d_output, *gradients.w_o));
    return gradients;
  }

  // Sums over all tokens: each rank has those of some output features, and
  // rank 0 gets all of them.
  Status add_projection(Of of, const Linear& linear,
                        TensorView<const float, 3> x,
                        TensorView<const float, 3> d_y,
                        LinearGradients& to) const {
    HEADWISE_ASSIGN(const auto all_x, all_tokens(of, x));
    HEADWISE_ASSIGN(const auto all_d_y, all_tokens(of, d_y));
    const std::vector<PartRange> features =
        feature_ranges(linear.out_features(), group_.ranks());
    auto own = work_visibly(group_, [&] {
      return gradients_of_features(
          all_x.view(), all_d_y.view(), features[group_.rank()],
          linear.has_bias(), linear.arithmetic(), offsets(of), all_.executor());
    });
    HEADWISE_TRY(own);
    HEADWISE_ASSIGN(
        auto weight,
        PartGathering<2>(group_, features, 0).to_first(own->weight));
    HEADWISE_ASSIGN(auto bias,
                    PartGathering<1>(group_, features, 0).to_first(own->bias));
    to = {std::move(weight), std::move(bias)};
    return ok();
  }

  Result<Tensor<float, 3>> all_tokens(Of of,
                                      TensorView<const float, 3> own) const {
    return gathered(of, [&](const auto& rows) { return rows.to_all(own); });
  }
  Result<Tensor<float, 3>> all_tokens_on_first(
      Of of, TensorView<const float, 3> own) const {
    return gathered(of, [&](const auto& rows) { return rows.to_first(own); });
  }
  template <class Gather>
  Result<Tensor<float, 3>> gathered(Of of, const Gather& gather) const {
    const AttentionShape& shape = all_.shape();
    const Shards& shards = all_.context.shards;
    return of == Of::queries
               ? gather(RowGathering(group_, shape.batches(),
                                     shape.query_rows(), shards.queries))
               : gather(RowGathering(group_, shape.batches(), shape.key_rows(),
                                     shards.keys));
  }

  TensorView<const std::int64_t, 1> offsets(Of of) const {
    const Offsets& both = all_.operation.options.offsets;
    return of == Of::queries ? both.query : both.key;
  }

  Communicator& group_;
  const MultiHeadAttentionConfig& config_;
  const MultiHeadAttentionParams& params_;
  const ContextLayerCall& call_;
  const CheckedLayer& all_;
  const ContextLayerInputs& own_;
  const ContextLayerRun& run_;
};

Status check_run(const ContextLayerCall& call, const ContextLayerRun& run,
                 TensorView<const float, 3> d_output) {
  HEADWISE_TRY(check_shape(kContextLayerBackward, "d_output",
                           d_output.extents(), "(1, queries, E)",
                           run.result.output.extents()));
  return call.for_backward
             ? ok()
             : Status(value_error(kContextLayerBackward, "for_backward",
                                  "false", "true for a backward pass"));
}

}  // namespace

Result<MultiHeadAttentionGradients> context_layer_backward(
    Communicator& group, const MultiHeadAttention& layer,
    const ContextLayerCall& call, const ContextLayerInputs& own,
    const ContextLayerRun& run, TensorView<const float, 3> d_output) {
  return or_abort(group, [&]() -> Result<MultiHeadAttentionGradients> {
    group.set_step(kContextLayerBackward, "the start");
    HEADWISE_ASSIGN(const auto all,
                    checked_layer(kContextLayerBackward, group, layer, call,
                                  own, check_run(call, run, d_output)));
    return LayerRowsBackward(group, layer, call, all, own, run).run(d_output);
  });
}

}  // namespace headwise::inline HEADWISE_ABI
