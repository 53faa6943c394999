#include "heads/weight_tiles.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "headwise/attention/forward.h"
#include "headwise/attention/statistics.h"
#include "headwise/base/tensor.h"

namespace headwise::inline HEADWISE_ABI {

Status visit_weights(TensorView<const float, 4> query,
                     TensorView<const float, 4> key, bool causal,
                     const Executor& executor, SeeWeights see) {
  constexpr std::size_t kQueries = 48;  // those of one tile of attention()
  const auto [B, L, Hq, D] = query.extents();
  Extents<4> no_value = key.extents();
  no_value[3] = 0;
  Tensor<float, 4> weights;
  Tensor<float, 4> rows;
  for (std::size_t first = 0; first < L; first += kQueries) {
    const std::size_t count = std::min(kQueries, L - first);
    auto tile = Tensor<float, 4>::create_unset_in(
        std::move(weights), {B, Hq, count, key.extent(1)});
    // Without values a call has statistics.
    auto statistics = Tensor<float, 4>::create_unset_in(
        std::move(rows), {B, Hq, count, kStatistics});
    HEADWISE_TRY(tile);
    HEADWISE_TRY(statistics);
    AttentionOptions options;
    options.mask = causal ? headwise::causal() : Mask();
    options.query_start = static_cast<std::int64_t>(first);
    options.attn_weights = AttnWeights::per_head;
    options.executor = &executor;
    const TensorView<const float, 4> queries(
        &query(0, first, 0, 0), {B, count, Hq, D}, query.strides());
    HEADWISE_TRY(
        attention(queries, key, TensorView<const float, 4>(nullptr, no_value),
                  {.output = TensorView<float, 4>(nullptr, {B, count, Hq, 0}),
                   .attn_weights = *tile,
                   .statistics = {.rows = *statistics}},
                  options, {.statistics = {.rows = true}}));
    see(first, *std::as_const(tile));
    weights = *std::move(tile);
    rows = *std::move(statistics);
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
