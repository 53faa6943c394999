// Attention weights as queries and keys that give them: the scores of a row are
// the logarithms of its weights, and pairs without weight in any head are
// masked.
//
//   query  (1, Lq, Hq, Lkv)   log(weight), at scale 1
//   key    (1, Lkv, 1, Lkv)   the unit vectors, for every head
//   mask   (Lq, Lkv)          true where any head has a weight
#pragma once

#include <cstddef>

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"

namespace headwise::python {

class WeightsAsScores {
 public:
  // For layers of these sizes. Errors: unsupported for more than kMostMapLength
  // queries or keys; out_of_memory.
  static Result<WeightsAsScores> create(std::size_t Lq, std::size_t Lkv);

  // Of one sequence of (B, Hq, Lq, Lkv). Errors: out_of_range for a sequence
  // beyond B; shape_mismatch for other sizes; bad_data for a weight that is
  // negative or not finite, and for a row of zeros that has weights in another
  // head; out_of_memory.
  Status set(TensorView<const float, 4> weights, std::size_t sequence);

  TensorView<const float, 4> query() const { return query_.view(); }
  TensorView<const float, 4> key() const { return key_.view(); }
  // Options whose views show what was set last.
  AttentionOptions options() const;

 private:
  Status set_query(std::size_t i, TensorView<const float, 3> weights);

  Tensor<float, 4> query_, key_;
  Tensor<bool, 2> mask_;
};

}  // namespace headwise::python
