#include "key_norms.h"

#include <cmath>

#include "headwise/heads/value_norms.h"

namespace headwise::cli {

Result<Tensor<float, 3>> key_norms_of(const ViewedLayer& layer,
                                      const Executor& executor) {
  const auto value =
      layer.attention->params()->w_v->forward(layer.hidden, "hidden", executor);
  HEADWISE_TRY(value);
  const MultiHeadAttentionConfig& config = layer.attention->config();
  const TensorView<const float, 4> values(
      value->data(),
      {1, layer.key.extent(1), *config.num_kv_heads, *config.v_head_dim});
  auto norms = value_norms(*layer.attention, values, executor);
  HEADWISE_TRY(norms);
  const std::size_t gates = layer.head_gates.extent(0);
  for (std::size_t h = 0; h < gates; ++h) {
    for (std::size_t j = 0; j < norms->extent(2); ++j) {
      (*norms)(0, h, j) *= std::abs(layer.head_gates(h));
    }
  }
  return norms;
}

}  // namespace headwise::cli
