#include "rank_pairs.h"

#include <algorithm>
#include <utility>

#include "headwise/distribute/heads_attention.h"
#include "rank_results.h"
#include "rank_rows.h"
#include "shell/ranks/rank_job.h"

namespace headwise::cli {

AttentionOptions options_of_heads(AttentionOptions options) {
  if (options.attn_weights == AttnWeights::mean) {
    options.attn_weights = AttnWeights::per_head;
  }
  return options;
}

Result<Tensor<float, 4>> RankPairs::make_own(bool asked) const {
  return asked ? Tensor<float, 4>::create(extents(own_heads()))
               : Tensor<float, 4>();
}

Result<Tensor<float, 4>> RankPairs::collect_weights(
    Tensor<float, 4>& own) const {
  if (spec_.attn_weights == AttnWeights::none) {
    return Tensor<float, 4>();
  }
  if (spec_.attn_weights != AttnWeights::mean) {
    return collect(own);
  }
  auto mean = mean_of_heads(group_, heads_, extents(1), own.view());
  HEADWISE_TRY(of_all_ranks(mean));
  return mean;
}

Result<Tensor<float, 4>> RankPairs::collect_scores(
    Tensor<float, 4>& own) const {
  return spec_.scores == ScoresStage::none ? Tensor<float, 4>() : collect(own);
}

Result<Tensor<float, 4>> RankPairs::collect(Tensor<float, 4>& own) const {
  const auto parts = gathered(group_, own, [this](std::size_t rank) {
    return extents(heads_.ranks[rank].heads.count);
  });
  HEADWISE_TRY(parts);
  const auto [B, heads, Lq, Lkv] = extents(spec_.shape.Hq);
  HEADWISE_ASSIGN(auto all, on_rank_0<float>(group_, {B, heads, Lq, Lkv}));
  const std::size_t head = Lq * Lkv;
  for (std::size_t r = 0; r < parts->size(); ++r) {
    const auto [first, count] = heads_.ranks[r].heads;
    const float* from = (*parts)[r].data();
    for (std::size_t b = 0; b < B; ++b) {
      std::copy_n(from + b * count * head, count * head,
                  all.data() + (b * heads + first) * head);
    }
  }
  return all;
}

Result<OwnPairs> RankPairs::own_gradient(const Tensor<float, 4>& whole) const {
  if (whole.size() == 0) {
    return OwnPairs();
  }
  const Strides<4> strides = whole.view().strides();
  const Extents<4> own = extents(own_heads());
  if (spec_.attn_weights != AttnWeights::mean) {
    const std::size_t first = heads_.ranks[group_.rank()].heads.first;
    return OwnPairs{{whole.data() + first * own[2] * own[3], own, strides}, {}};
  }
  HEADWISE_ASSIGN(auto each,
                  gradient_of_each_head(whole.view(), spec_.shape.Hq));
  return OwnPairs{{each.data(), own, {strides[0], 0, strides[2], strides[3]}},
                  std::move(each)};
}

}  // namespace headwise::cli
