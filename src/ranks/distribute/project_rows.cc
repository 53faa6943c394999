#include "distribute/project_rows.h"

#include <utility>

#include "headwise/steps/norm_heads.h"
#include "module/layer_moves.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Status normalize(const QkNorm& norm, const HeadNormParams& params,
                 TensorView<float, 4> x, Tensor<float, 3>& normed,
                 const Executor& executor) {
  const auto [B, L, H, D] = x.extents();
  HEADWISE_ASSIGN(normed, Tensor<float, 3>::create_unset({B, L, H * D}));
  return norm_heads(norm, params, x, in_heads(normed.view(), H), executor);
}

}  // namespace

Result<ContextLayerRun> project_rows(const MultiHeadAttention& layer,
                                     const AttentionShape& shape,
                                     const ContextLayerInputs& rows,
                                     const HeadPositions& positions,
                                     const Executor& executor) {
  const MultiHeadAttentionParams& params = *layer.params();
  const MultiHeadAttentionConfig& config = layer.config();
  HEADWISE_ASSIGN(auto query,
                  params.w_q.forward(rows.query, "query", executor));
  HEADWISE_ASSIGN(auto key, params.w_k.forward(rows.key, "key", executor));
  ContextLayerRun run{
      .result = {}, .query = std::move(query), .key = std::move(key)};
  if (params.w_v) {
    HEADWISE_ASSIGN(run.value,
                    params.w_v->forward(rows.value, "value", executor));
  }
  QueriesAndKeys compared = {in_heads(run.query.view(), shape.Hq),
                             in_heads(run.key.view(), shape.Hkv)};
  if (config.qk_norm) {
    HEADWISE_TRY(normalize(*config.qk_norm, *params.q_norm, compared.query,
                           run.normed_query, executor));
    HEADWISE_TRY(normalize(*config.qk_norm, *params.k_norm, compared.key,
                           run.normed_key, executor));
    compared = {in_heads(run.normed_query.view(), shape.Hq),
                in_heads(run.normed_key.view(), shape.Hkv)};
  }
  if (config.rotary) {
    HEADWISE_TRY(
        rotate_heads(*config.rotary, compared, shape, {}, positions, executor));
  }
  return run;
}

AttentionInputsOf<float> compared_heads(const AttentionShape& shape,
                                        const ContextLayerInputs& rows,
                                        const ContextLayerRun& run) {
  const auto or_projected = [](const Tensor<float, 3>& normed,
                               const Tensor<float, 3>& projected) {
    return normed.extent(2) != 0 ? normed.view() : projected.view();
  };
  const TensorView<const float, 3> value =
      run.value.extent(2) != 0 ? run.value.view() : rows.value;
  return {in_heads(or_projected(run.normed_query, run.query), shape.Hq),
          in_heads(or_projected(run.normed_key, run.key), shape.Hkv),
          in_heads(value, shape.Hkv)};
}

}  // namespace headwise::inline HEADWISE_ABI
