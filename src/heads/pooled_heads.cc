#include "heads/pooled_heads.h"

#include <utility>

namespace headwise::inline HEADWISE_ABI {

Result<PooledStatistics> pooled_statistics(TensorView<const float, 4> query,
                                           TensorView<const float, 4> key,
                                           TensorView<const bool, 2> separators,
                                           bool causal,
                                           const Executor& executor) {
  Extents<4> no_value = key.extents();
  Extents<4> no_output = query.extents();
  no_value[3] = 0;
  no_output[3] = 0;
  AttentionOptions options;
  options.mask = causal ? headwise::causal() : Mask();
  options.executor = &executor;
  auto done = attention_statistics(
      query, key, TensorView<const float, 4>(nullptr, no_value),
      {.output = TensorView<float, 4>(nullptr, no_output)}, options,
      {.statistics = {.rows = true, .separators = separators}});
  HEADWISE_TRY(done);
  return std::move(done->pooled);
}

}  // namespace headwise::inline HEADWISE_ABI
