// What the passes of a causal model share.
#pragma once

#include <cstddef>
#include <vector>

#include "headwise/models/causal_model.h"
#include "models/causal_params.h"
#include "transformer/pass_parts.h"

namespace headwise::inline HEADWISE_ABI {

struct CausalModel::State : CausalParams {
  explicit State(CausalParams params);

  TextModelShape shape;
};

// The numbers of a layer's heads.
std::vector<std::size_t> kept_in(const CausalConfig& config, std::size_t layer);

// The ids and the positions of all rows, (1, rows).
struct CausalRows {
  Tensor<TokenId, 2> tokens;
  Tensor<TokenId, 2> positions;
};
Result<CausalRows> causal_rows(const RaggedTokens& ids);

// x = token[id] + position[t], (1, rows, hidden_size)
Result<Tensor<float, 3>> embedded(const CausalParams& params,
                                  const CausalRows& rows);

inline Result<Tensor<float, 3>> normalized(const Tensor<float, 3>& x,
                                           const LayerNormParams& norm,
                                           const Executor& executor) {
  HEADWISE_ASSIGN(auto y, Tensor<float, 3>::create_unset(x.extents()));
  HEADWISE_TRY(layer_norm(rows_of(x), norm, rows_of(y), executor));
  return y;
}

// Errors: those of CausalModel::run().
Status check_call(const CausalParams& params, const RaggedTokens& ids,
                  const ModelPass& pass);

}  // namespace headwise::inline HEADWISE_ABI
