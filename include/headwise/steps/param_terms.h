// The terms of the parameters' gradients. A backward pass that is given a
// ParamTerms hands over these tensors instead of adding them up, so that the
// caller can: machines that share a batch sum each gradient over all sequences,
// in order.
//
//   projection  weight: sum over the tokens of d_y[o] * x[i], bias: of d_y[o]
//   norm        of d_y[e] * z[e] with z the normalised x, and of d_y[e]
//   table       of the d_embedded of the tokens that looked up a row
//
// `name` is that of the parameters, without ".weight" and ".bias". Views are
// valid only during the call. An error ends the backward pass and is returned.
#pragma once

#include <string_view>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class ParamTerms {
 public:
  ParamTerms() = default;
  ParamTerms(const ParamTerms&) = delete;
  ParamTerms& operator=(const ParamTerms&) = delete;
  virtual ~ParamTerms();

  // x (B, L, in_features), d_y (B, L, out_features)
  virtual Status add_projection(std::string_view name,
                                TensorView<const float, 3> x,
                                TensorView<const float, 3> d_y) = 0;
  // x and d_y (rows, E)
  virtual Status add_norm(std::string_view name, TensorView<const float, 2> x,
                          TensorView<const float, 2> d_y) = 0;
  // ids (B, L), d_embedded (B, L, embed_dim)
  virtual Status add_table(std::string_view name,
                           TensorView<const TokenId, 2> ids,
                           TensorView<const float, 3> d_embedded) = 0;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
