// Joins the ranks' parts of the results on rank 0.
#pragma once

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/distribute/communicator.h"
#include "headwise/steps/shape.h"
#include "rank_rows.h"

namespace headwise::cli {

// Empty on other ranks. Errors: out_of_memory.
template <class T>
Result<Tensor<T, 4>> on_rank_0(const Communicator& group,
                               const Extents<4>& extents) {
  return group.rank() == 0 ? Tensor<T, 4>::create_unset(extents)
                           : Tensor<T, 4>();
}

// (1, Hq, rows) of each rank as (B, Hq, Lq). Errors: out_of_memory,
// rank_failure.
Result<Tensor<float, 3>> collect_lse(Communicator& group,
                                     const AttentionShape& shape,
                                     const RankRows& rows,
                                     Tensor<float, 3> own);

}  // namespace headwise::cli
