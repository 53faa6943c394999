// Sums over the rows of a call: sequence by sequence, row by row.
#pragma once

#include <cmath>
#include <cstddef>

#include "headwise/base/tensor_view.h"
#include "headwise/steps/shape.h"
#include "headwise/steps/softmax.h"
#include "run/float_environment.h"

namespace headwise::inline HEADWISE_ABI {

// sums(h) = what the rows of head h have, (B, heads, Lq).
inline void add_rows_up(const AttentionShape& shape,
                        const TensorView<const float, 3>& rows,
                        const TensorView<float, 1>& sums) {
  const FloatEnvironment environment;
  // Of empty sequences there may be any number.
  const std::size_t sequences = rows.size() == 0 ? 0 : shape.B;
  for (std::size_t h = 0; h < rows.extent(1); ++h) {
    float sum = 0;
    for (std::size_t b = 0; b < sequences; ++b) {
      const SequencePlace place = shape.sequence(b);
      for (std::size_t i = 0; i < place.Lq; ++i) {
        sum += rows(place.batch, h, place.first_query + i);
      }
    }
    sums(h) = std::isnan(sum) ? kNaN : sum;
  }
}

}  // namespace headwise::inline HEADWISE_ABI
