// Tensors of which each rank has some heads, whole on the ranks that want them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "distribute/copy_rows.h"
#include "distribute/shards.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/distribute/communicator.h"

namespace headwise::inline HEADWISE_ABI {

// `part` is what this rank has, and heads[r] are the heads of rank r along
// `axis`. Each rank r where wanted_by(r) gets all of them in its `whole`.
// Errors: out_of_memory, rank_failure.
template <class WantedBy>
Status share_heads(Communicator& group, std::span<const PartRange> heads,
                   std::size_t axis, std::span<const float> part,
                   const WantedBy& wanted_by,
                   const TensorView<float, 4>& whole) {
  const bool wanted = wanted_by(group.rank());
  std::vector<std::span<const std::byte>> out(group.ranks());
  std::vector<std::span<std::byte>> in(group.ranks());
  std::vector<Tensor<float, 4>> received(group.ranks());
  for (std::size_t rank = 0; rank < group.ranks(); ++rank) {
    if (wanted_by(rank)) {
      out[rank] = bytes_of(part.data(), part.size());
    }
    if (wanted) {
      Extents<4> extents = whole.extents();
      extents[axis] = heads[rank].count;
      HEADWISE_ASSIGN(received[rank], Tensor<float, 4>::create_unset(extents));
      in[rank] =
          writable_bytes_of(received[rank].data(), received[rank].size());
    }
  }
  HEADWISE_TRY(group.exchange(out, in));
  for (std::size_t rank = 0; wanted && rank < group.ranks(); ++rank) {
    if (received[rank].size() != 0) {
      copy_rows<float>(std::as_const(received[rank]).view(),
                       part_along(axis, whole, heads[rank]));
    }
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
