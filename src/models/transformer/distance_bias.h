// DeBERTa's disentangled scores: what contents and distances add to the scores
// of a sequence. With the table's row r of the distance from key j to query i,
//
//   bias[h,i,j] = scale * (query[h,i] . distance_key[h,r]
//                          + key[h,j] . distance_query[h,r])
//
// Source: He et al. 2021, arXiv:2006.03654, section 3.1; buckets of distances:
// He et al. 2023, arXiv:2111.09543.
#pragma once

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"
#include "transformer/description.h"
#include "transformer/params.h"

namespace headwise::inline HEADWISE_ABI::transformer {

// x (1, L, hidden_size); the result is (heads, L, L). Errors: out_of_memory.
Result<Tensor<float, 3>> distance_bias(const Block& block,
                                       const HeadsSpec& heads,
                                       TensorView<const float, 3> x,
                                       const Executor& executor);

// Its way back: the gradient by x, from that by the bias, (1, heads, L, L). The
// model was read for training. Errors: out_of_memory.
Result<Rows> distance_bias_backward(const Block& block, const HeadsSpec& heads,
                                    const Tensor<float, 4>& d_bias,
                                    const Executor& executor);

}  // namespace headwise::inline HEADWISE_ABI::transformer
