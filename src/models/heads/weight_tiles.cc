#include "heads/weight_tiles.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "headwise/attention/forward.h"
#include "headwise/attention/statistics.h"
#include "headwise/base/tensor.h"

namespace headwise::inline HEADWISE_ABI {

Result<Tensor<float, 4>> weights_of_queries(TensorView<const float, 4> query,
                                            TensorView<const float, 4> key,
                                            bool causal, std::size_t first,
                                            std::size_t count,
                                            const Executor& executor,
                                            Tensor<float, 4> memory) {
  const auto [B, L, Hq, D] = query.extents();
  Extents<4> no_value = key.extents();
  no_value[3] = 0;
  auto weights = Tensor<float, 4>::create_unset_in(
      std::move(memory), {B, Hq, count, key.extent(1)});
  // Without values a call has statistics.
  auto rows = Tensor<float, 4>::create_unset({B, Hq, count, kStatistics});
  HEADWISE_TRY(weights);
  HEADWISE_TRY(rows);
  AttentionOptions options;
  options.mask = causal ? headwise::causal() : Mask();
  options.query_start = static_cast<std::int64_t>(first);
  options.attn_weights = AttnWeights::per_head;
  options.executor = &executor;
  const TensorView<const float, 4> queries(&query(0, first, 0, 0),
                                           {B, count, Hq, D}, query.strides());
  HEADWISE_TRY(
      attention(queries, key, TensorView<const float, 4>(nullptr, no_value),
                {.output = TensorView<float, 4>(nullptr, {B, count, Hq, 0}),
                 .attn_weights = *weights,
                 .statistics = {.rows = *rows}},
                options, {.statistics = {.rows = true}}));
  return weights;
}

Status visit_weights(TensorView<const float, 4> query,
                     TensorView<const float, 4> key, bool causal,
                     const Executor& executor, SeeWeights see) {
  const std::size_t L = query.extent(1);
  Tensor<float, 4> memory;
  for (std::size_t first = 0; first < L; first += kTileQueries) {
    const std::size_t count = std::min(kTileQueries, L - first);
    HEADWISE_ASSIGN(auto weights,
                    weights_of_queries(query, key, causal, first, count,
                                       executor, std::move(memory)));
    see(first, std::as_const(weights));
    memory = std::move(weights);
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
