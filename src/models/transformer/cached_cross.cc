#include "transformer/cached_cross.h"

#include <algorithm>
#include <utility>

#include "headwise/attention/forward.h"
#include "headwise/attention/statistics_options.h"
#include "transformer/pass_parts.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

// The rows of one sequence.
struct SequenceRows {
  std::size_t sequence = 0;
  std::size_t first = 0;
  std::size_t rows = 0;
};

TensorView<float, 4> rows_of_part(Tensor<float, 4>& heads,
                                  const SequenceRows& part) {
  return {&heads(0, part.first, 0, 0),
          {1, part.rows, heads.extent(2), heads.extent(3)}};
}

// Copies the weights of one sequence, (1, H, rows, keys), of the seen heads.
void copy_weights(const Tensor<float, 4>& of_one, std::size_t b,
                  const SeenHeads& seen, std::vector<Tensor<float, 4>>& all) {
  const auto [one, H, rows, keys] = of_one.extents();
  for (std::size_t h = 0; h < H; ++h) {
    for (std::size_t w = 0; w < all.size(); ++w) {
      if (!seen.all && seen.heads[w] != h) {
        continue;
      }
      for (std::size_t i = 0; i < rows; ++i) {
        std::copy_n(&of_one(0, h, i, 0), keys,
                    &all[w](b, seen.all ? h : 0, i, 0));
      }
    }
  }
}

// Of one sequence: what its rows make of the encoder's.
Status attend_part(const CachedCross& call, const SequenceRows& part,
                   const SeenHeads& seen, Tensor<float, 4>& query,
                   Tensor<float, 4>& context,
                   std::vector<Tensor<float, 4>>& attn_weights) {
  const CrossKeys& cross = call.sequences[part.sequence]->cross[call.layer];
  const std::size_t H = query.extent(2);
  const HookPlace at{call.layer, part.first, AttentionKind::cross,
                     call.sequences[part.sequence]->given};
  const HeadHooks hooks = hooks_at(call.pass.hooks, at);
  AttentionOptions options{.scale = call.scale, .executor = &call.executor};
  options.arithmetic = call.attention.config().arithmetic;
  const bool weights = seen.all || !seen.heads.empty();
  options.attn_weights = weights ? AttnWeights::per_head : AttnWeights::none;
  const bool rows = static_cast<bool>(call.pass.see_statistics);
  HEADWISE_ASSIGN(auto of_one,
                  Tensor<float, 4>::create_unset(
                      {1, weights ? H : 0, part.rows, cross.key.extent(1)}));
  HEADWISE_ASSIGN(auto statistics,
                  Tensor<float, 4>::create_unset(
                      {1, rows ? H : 0, part.rows, kStatistics}));
  const TensorView<const float, 4> from = rows_of_part(query, part);
  const TensorView<float, 4> to = rows_of_part(context, part);
  if (hooks.see_inputs) {
    HEADWISE_TRY(hooks.see_inputs({from, cross.key, cross.value, options}));
  }
  HEADWISE_TRY(attention(
      from, cross.key.view(), cross.value.view(),
      {.output = to,
       .attn_weights = weights ? of_one.view() : TensorView<float, 4>(),
       .statistics = {.rows =
                          rows ? statistics.view() : TensorView<float, 4>()}},
      options, {.statistics = {.rows = rows}}));
  if (hooks.edit) {
    HEADWISE_TRY(hooks.edit({cross.value, to}));
  }
  if (hooks.see) {
    HEADWISE_TRY(hooks.see(to));
  }
  if (rows) {
    HEADWISE_TRY(call.pass.see_statistics(at, statistics));
  }
  copy_weights(of_one, part.sequence, seen, attn_weights);
  return ok();
}

}  // namespace

Result<Tensor<float, 4>> projected_heads(const Linear& linear, const Rows& x,
                                         std::size_t heads,
                                         const Executor& executor) {
  HEADWISE_ASSIGN(auto rows, linear.forward(x, "hidden", executor));
  const auto [one, count, features] = rows.extents();
  return std::move(rows).with_extents<4>(
      {1, count, heads, heads == 0 ? 0 : features / heads});
}

Result<SeenAttention> attend_to_encoded(const CachedCross& call,
                                        const SeenHeads& seen) {
  const auto& params = *call.attention.params();
  const std::size_t H = call.attention.config().num_heads;
  HEADWISE_ASSIGN(auto query,
                  projected_heads(params.w_q, call.query, H, call.executor));
  HEADWISE_ASSIGN(auto context,
                  Tensor<float, 4>::create_unset(query.extents()));
  std::vector<SequenceRows> parts;
  std::size_t most_rows = 0;
  std::size_t most_keys = 0;
  for (std::size_t b = 0; b < call.sequences.size(); ++b) {
    const auto first = static_cast<std::size_t>(call.offsets[b]);
    parts.push_back(
        {b, first, static_cast<std::size_t>(call.offsets[b + 1]) - first});
    most_rows = std::max(most_rows, parts.back().rows);
    most_keys =
        std::max(most_keys, call.sequences[b]->cross[call.layer].key.extent(1));
  }
  SeenAttention made;
  for (std::size_t w = 0; w < (seen.all ? 1 : seen.heads.size()); ++w) {
    HEADWISE_ASSIGN(made.attn_weights.emplace_back(),
                    Tensor<float, 4>::create({parts.size(), seen.all ? H : 1,
                                              most_rows, most_keys}));
  }
  for (const SequenceRows& part : parts) {
    if (part.rows != 0) {
      HEADWISE_TRY(
          attend_part(call, part, seen, query, context, made.attn_weights));
    }
  }
  const auto [one, rows, heads, size] = context.extents();
  const auto merged =
      std::move(context).with_extents<3>({1, rows, heads * size});
  HEADWISE_ASSIGN(made.output,
                  params.w_o->forward(merged, "merged", call.executor));
  return made;
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
