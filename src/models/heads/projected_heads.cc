#include "headwise/heads/projected_heads.h"

#include <utility>

#include "headwise/steps/norm_heads.h"
#include "headwise/steps/rotate_heads.h"

namespace headwise::inline HEADWISE_ABI {

Result<ProjectedHeads> ProjectedHeads::of(
    const MultiHeadAttention& attention, TensorView<const float, 3> hidden,
    const Executor& executor, std::span<const std::size_t> lengths) {
  const MultiHeadAttentionConfig& config = attention.config();
  const auto& params = *attention.params();
  HEADWISE_ASSIGN(auto query, params.w_q.forward(hidden, "hidden", executor));
  HEADWISE_ASSIGN(auto key, params.w_k.forward(hidden, "hidden", executor));
  ProjectedHeads made;
  made.query_ = std::move(query);
  made.key_ = std::move(key);
  made.num_heads_ = config.num_heads;
  made.num_kv_heads_ = *config.num_kv_heads;
  made.head_dim_ = *config.head_dim;
  const std::size_t rows = hidden.extent(1);
  const auto queries = made.query_heads(0, rows);
  const auto keys = made.key_heads(0, rows);
  if (config.qk_norm) {
    const QkNorm& norm = *config.qk_norm;
    HEADWISE_TRY(norm_heads(norm, *params.q_norm, queries, queries, executor));
    HEADWISE_TRY(norm_heads(norm, *params.k_norm, keys, keys, executor));
  }
  if (!config.rotary) {
    return made;
  }
  const std::size_t all[] = {rows};
  std::size_t first = 0;
  for (const std::size_t count : lengths.empty() ? std::span(all) : lengths) {
    const AttentionShape shape{.B = 1,
                               .Hq = made.num_heads_,
                               .Hkv = made.num_kv_heads_,
                               .Lq = count,
                               .Lkv = count,
                               .D = made.head_dim_};
    HEADWISE_TRY(rotate_heads(
        *config.rotary,
        {made.query_heads(first, count), made.key_heads(first, count)}, shape,
        {}, {}, executor));
    first += count;
  }
  return made;
}

}  // namespace headwise::inline HEADWISE_ABI
