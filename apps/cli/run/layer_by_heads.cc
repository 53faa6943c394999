#include "layer_by_heads.h"

#include <optional>
#include <utility>
#include <vector>

#include "headwise/distribute/layer_shard.h"
#include "layer_result.h"
#include "operation/number_type.h"
#include "rank_pairs.h"
#include "run_gradients.h"
#include "shell/ranks/rank_job.h"
#include "shell/visible_work.h"

namespace headwise::cli {
namespace {

// One call in T: what this rank has of the layer.
template <class T>
class LayerHeads {
 public:
  LayerHeads(Communicator& group, const LayerShard& shard,
             const LayerTogether& of, const Division& division)
      : group_(group),
        shard_(shard),
        of_(of),
        options_(options_of_heads(of.options)),
        pairs_(group, of.spec, division.heads) {}

  Result<RunResult> forward(const Operands<T, 3>& in) const {
    auto result = shard_.forward(group_, in.query.view(), in.key.view(),
                                 in.value.view(), options_, of_.layer_options);
    HEADWISE_TRY(of_all_ranks(result));
    return collected(*std::move(result), {});
  }

  Result<RunResult> both_ways(const Operands<T, 3>& in) const {
    const MultiHeadAttentionConfig& config = shard_.config();
    const AttentionShape& shape = of_.spec.shape;
    const auto files = work_visibly(&group_, [&] {
      return read_upstream(
          of_.flags, of_.batched,
          {in.query.extent(0), in.query.extent(1),
           config.out_proj ? config.embed_dim : shape.Hq * shape.Dv},
          pairs_.extents(shape.Hq));
    });
    HEADWISE_TRY(agreed(group_, files));
    const auto d_output = d_output_in<T>(*files);
    HEADWISE_TRY(agreed(group_, d_output));
    HEADWISE_ASSIGN(const auto d_attn_weights,
                    pairs_.own_gradient(files->d_attn_weights));
    auto saved = shard_.forward_for_backward(group_, in.query.view(),
                                             in.key.view(), in.value.view(),
                                             options_, of_.layer_options);
    HEADWISE_TRY(of_all_ranks(saved));
    auto gradients =
        shard_.backward(group_, *saved, d_output->view(), d_attn_weights.view);
    HEADWISE_TRY(of_all_ranks(gradients));
    HEADWISE_ASSIGN(auto by_name, named_on_first(*std::move(gradients)));
    return collected(std::move(*saved).take_result(), std::move(by_name));
  }

 private:
  // The whole result, on rank 0.
  Result<RunResult> collected(MultiHeadAttentionResult<3, T> own,
                              std::vector<NamedGradient> gradients) const {
    HEADWISE_ASSIGN(auto attn_weights,
                    pairs_.collect_weights(own.attn_weights));
    HEADWISE_ASSIGN(auto scores, pairs_.collect_scores(own.scores));
    own.attn_weights = std::move(attn_weights);
    own.scores = std::move(scores);
    return run_result<T>(std::move(own), std::move(gradients));
  }

  // The whole gradients by name, on rank 0.
  Result<std::vector<NamedGradient>> named_on_first(
      MultiHeadAttentionGradientsOf<T> own) const {
    MultiHeadAttentionParamGradients& of_params = own;
    auto params = shard_.gather(group_, std::move(of_params));
    HEADWISE_TRY(of_all_ranks(params));
    if (group_.rank() != 0) {
      return std::vector<NamedGradient>();
    }
    of_params = *std::move(params);
    HEADWISE_ASSIGN(auto wide, widen_gradients<T>(std::move(own)));
    return named_gradients(std::move(wide), of_.options.bias, of_.batched);
  }

  Communicator& group_;
  const LayerShard& shard_;
  const LayerTogether& of_;
  AttentionOptions options_;  // of a rank
  RankPairs pairs_;
};

}  // namespace

Result<RunResult> run_layer_by_heads(Communicator& group,
                                     MultiHeadAttention layer,
                                     Operands<float, 3> in,
                                     const LayerTogether& of,
                                     const Division& division) {
  std::optional<MultiHeadAttention> whole = std::move(layer);
  const auto shard = LayerShard::create(*whole, group.ranks(), group.rank(),
                                        {.training = of.training()});
  HEADWISE_TRY(agreed(group, shard));
  whole.reset();
  return with_dtype(of.flags.dtype, [&](auto number) -> Result<RunResult> {
    using T = decltype(number);
    HEADWISE_ASSIGN(const auto in_type, narrow<T>(std::move(in)));
    const LayerHeads<T> heads(group, *shard, of, division);
    return of.training() ? heads.both_ways(in_type) : heads.forward(in_type);
  });
}

}  // namespace headwise::cli
