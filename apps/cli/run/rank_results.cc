#include "rank_results.h"

#include <utility>

namespace headwise::cli {

Result<Tensor<float, 3>> collect_lse(Communicator& group,
                                     const AttentionShape& shape,
                                     const RankRows& rows,
                                     Tensor<float, 3> own) {
  const Extents<3> extents = {shape.batches(), shape.Hq, shape.query_rows()};
  HEADWISE_ASSIGN(auto whole, on_rank_0<float>(group, {extents[0], extents[1],
                                                       extents[2], 1}));
  const auto of_rank = [&](std::size_t rank) {
    return Extents<4>{1, shape.Hq, rows.count(Side::queries, rank), 1};
  };
  Tensor<float, 4> with_last_axis =
      std::move(own).with_extents(of_rank(group.rank()));
  HEADWISE_TRY(rows.collect(
      Side::queries, with_last_axis, of_rank,
      [](TensorView<const float, 4> view) { return as_blhd(view); },
      as_blhd(whole.view())));
  return group.rank() == 0 ? (std::move(whole)).with_extents(extents)
                           : Tensor<float, 3>();
}

}  // namespace headwise::cli
