// The rows that ranks have of whole tensors: cut out, and put together again.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/distribute/communicator.h"
#include "headwise/distribute/shard_plan.h"
#include "headwise/steps/shape.h"

namespace headwise::cli {

enum class Side { queries, keys };

// Rank 0 gets what all ranks have; extents_of(rank) are the sizes. Errors:
// out_of_memory, rank_failure.
template <class T, std::size_t Rank, class ExtentsOf>
Result<std::vector<Tensor<T, Rank>>> gathered(Communicator& group,
                                              Tensor<T, Rank>& own,
                                              const ExtentsOf& extents_of) {
  const auto bytes_of = [](Tensor<T, Rank>& tensor) {
    return std::as_writable_bytes(tensor.elements());
  };
  std::vector<Tensor<T, Rank>> all;
  std::vector<std::span<std::byte>> parts;
  for (std::size_t r = 0; group.rank() == 0 && r < group.ranks(); ++r) {
    HEADWISE_ASSIGN(auto part, Tensor<T, Rank>::create_unset(extents_of(r)));
    all.push_back(std::move(part));
    parts.push_back(bytes_of(all.back()));
  }
  HEADWISE_TRY(group.gather(bytes_of(own), parts, 0));
  return all;
}

class RankRows {
 public:
  // What it is made of must outlive it. `plan`: by context.
  RankRows(Communicator& group, const AttentionShape& shape,
           const ShardPlan& plan)
      : group_(group), shape_(shape), plan_(plan) {}

  std::size_t count(Side side, std::size_t rank) const {
    std::size_t rows = 0;
    for (const TokenPiece& piece : pieces(side, rank)) {
      rows += piece.range.tokens;
    }
    return rows;
  }

  std::size_t own_count(Side side) const { return count(side, group_.rank()); }

  // The rows of this rank, (1, rows, H, D), of a tensor (B, L, H, D). Errors:
  // out_of_memory.
  template <class T>
  Result<Tensor<T, 4>> own(Side side, TensorView<const T, 4> whole) const {
    const std::size_t rank = group_.rank();
    HEADWISE_ASSIGN(auto own, Tensor<T, 4>::create_unset({1, count(side, rank),
                                                          whole.extent(2),
                                                          whole.extent(3)}));
    const TensorView<T, 4> rows = own.view();
    for_each_row(side, rank,
                 [&](std::size_t b, std::size_t row, std::size_t n) {
                   copy_row<T>({whole, b, row}, {rows, 0, n});
                 });
    return own;
  }

  // Calls visit(batch, first, count, n) for each run of consecutive rows of a
  // tensor (B, L, H, D) that belong to this rank; n counts the rank's rows
  // before the run. Stops at an error of visit().
  template <class Visit>
  Status for_each_own_piece(Side side, const Visit& visit) const {
    std::size_t n = 0;
    for (const TokenPiece& piece : pieces(side, group_.rank())) {
      const RowPlace place = place_of(side, piece);
      HEADWISE_TRY(visit(place.batch, place.first, piece.range.tokens, n));
      n += piece.range.tokens;
    }
    return ok();
  }

  // by_rows(tensor) views a tensor as (B, L, H, D); extents_of(rank) are those
  // of a rank's tensor `own`. Rank 0 writes the rows of all ranks into `whole`.
  // Errors: out_of_memory, rank_failure.
  template <class T, class ExtentsOf, class ByRows>
  Status collect(Side side, Tensor<T, 4>& own, const ExtentsOf& extents_of,
                 const ByRows& by_rows, TensorView<T, 4> whole) const {
    HEADWISE_ASSIGN(auto parts, gathered(group_, own, extents_of));
    for (std::size_t r = 0; r < parts.size(); ++r) {
      const TensorView<const T, 4> rows = by_rows(parts[r].view());
      for_each_row(side, r, [&](std::size_t b, std::size_t row, std::size_t n) {
        copy_row<T>({rows, 0, n}, {whole, b, row});
      });
    }
    return ok();
  }

 private:
  template <class T>
  struct Row {
    const TensorView<T, 4>& of;
    std::size_t batch;
    std::size_t row;
  };
  template <class T>
  static void copy_row(const Row<const T>& from, const Row<T>& to) {
    for (std::size_t h = 0; h < from.of.extent(2); ++h) {
      for (std::size_t d = 0; d < from.of.extent(3); ++d) {
        to.of(to.batch, to.row, h, d) = from.of(from.batch, from.row, h, d);
      }
    }
  }

  const std::vector<TokenPiece>& pieces(Side side, std::size_t rank) const {
    const RankShare& share = plan_.ranks[rank];
    return side == Side::queries ? share.queries : share.keys;
  }

  struct RowPlace {
    std::size_t batch;
    std::size_t first;
  };
  RowPlace place_of(Side side, const TokenPiece& piece) const {
    const SequencePlace place = shape_.sequence(piece.sequence);
    const std::size_t first =
        side == Side::queries ? place.first_query : place.first_key;
    return {place.batch, first + piece.range.first};
  }

  // Calls visit(batch, row, n) for the n-th row of a rank, which is a row of
  // the whole tensors.
  template <class Visit>
  void for_each_row(Side side, std::size_t rank, const Visit& visit) const {
    std::size_t n = 0;
    for (const TokenPiece& piece : pieces(side, rank)) {
      const RowPlace place = place_of(side, piece);
      for (std::size_t row = 0; row < piece.range.tokens; ++row) {
        visit(place.batch, place.first + row, n++);
      }
    }
  }

  Communicator& group_;
  const AttentionShape& shape_;
  const ShardPlan& plan_;
};

}  // namespace headwise::cli
