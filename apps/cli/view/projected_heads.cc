#include "projected_heads.h"

#include <utility>

namespace headwise::cli {

Result<ProjectedHeads> ProjectedHeads::of(const MultiHeadAttention& attention,
                                          TensorView<const float, 3> hidden,
                                          const Executor& executor) {
  auto query = attention.params()->w_q.forward(hidden, "hidden", executor);
  auto key = attention.params()->w_k.forward(hidden, "hidden", executor);
  HEADWISE_TRY(query);
  HEADWISE_TRY(key);
  const MultiHeadAttentionConfig& config = attention.config();
  ProjectedHeads made;
  made.query_ = *std::move(query);
  made.key_ = *std::move(key);
  made.num_heads_ = config.num_heads;
  made.num_kv_heads_ = *config.num_kv_heads;
  made.head_dim_ = *config.head_dim;
  return made;
}

}  // namespace headwise::cli
