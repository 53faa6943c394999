#include "explain_params.h"

#include <array>
#include <map>
#include <string_view>

namespace headwise::cli {

std::vector<TracedStep> explained_params(MultiHeadAttention& layer,
                                         const Embedding* embedding) {
  constexpr std::array<std::string_view, 2> kAxes = {"out", "in"};
  const MultiHeadAttentionConfig& config = layer.config();
  const std::map<std::string_view, std::size_t> columns = {
      {"w_q.weight", *config.query_dim},
      {"w_k.weight", *config.kdim},
      {"w_v.weight", *config.vdim},
      {"w_o.weight", config.num_heads * *config.v_head_dim},
      {"w_score.weight", *config.head_dim}};
  Trace params;
  // It only reads, so nothing fails.
  (void)layer.update([&](std::string_view name, std::span<float> values) {
    const auto matrix = columns.find(name);
    if (matrix == columns.end()) {
      params.on_step(
          name, std::span(kAxes).first(1),
          TensorView<const float, 1>(values.data(), {values.size()}));
    } else {
      params.on_step(
          name, kAxes,
          TensorView<const float, 2>(
              values.data(), {values.size() / matrix->second, matrix->second}));
    }
    return ok();
  });
  if (embedding != nullptr) {
    params.on_step("embedding.weight", kAxes, embedding->weight());
  }
  return {params.steps().begin(), params.steps().end()};
}

}  // namespace headwise::cli
