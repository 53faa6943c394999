// Tensors that go from ranks that have some tokens of all heads to ranks that
// have all tokens of some heads, and back.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "distribute/copy_rows.h"
#include "distribute/rank_heads.h"
#include "distribute/shards.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/distribute/communicator.h"
#include "headwise/steps/shape.h"

namespace headwise::inline HEADWISE_ABI {

// Rows and heads of a tensor of rank 4: (1, rows, heads, D), or (1, heads,
// rows, n) of numbers per row.
struct HeadAxes {
  std::size_t rows;
  std::size_t heads;
};
inline constexpr HeadAxes kRowsFirst = {1, 2};
inline constexpr HeadAxes kHeadsFirst = {2, 1};

// Where a shard's rows are in the whole tensor, (B, L, ..) or, of a ragged
// batch, (1, rows, ..).
struct WholeRows {
  std::size_t batch;
  PartRange rows;
};

template <class T>
class HeadExchange {
 public:
  // `heads[r]` are those of rank r. The shards are in the order of the rows,
  // places[n] those of shards[n].
  HeadExchange(Communicator& group, std::span<const PartRange> heads,
               std::span<const Shard> shards, std::span<const WholeRows> places,
               const HeadAxes& axes)
      : group_(group),
        heads_(heads),
        shards_(shards),
        places_(places),
        axes_(axes) {}

  // From the rank's tokens of all heads to all tokens of its heads.
  Status to_heads(TensorView<const T, 4> own, TensorView<T, 4> whole) const {
    std::vector<Tensor<T, 4>> out;
    std::vector<Tensor<T, 4>> in;
    for (std::size_t rank = 0; rank < group_.ranks(); ++rank) {
      HEADWISE_TRY(add_message(group_.rank(), rank, whole.extent(3), out));
      HEADWISE_TRY(add_message(rank, group_.rank(), whole.extent(3), in));
      if (out.back().size() != 0) {
        copy_rows<T>(part_along(axes_.heads, own, heads_[rank]), out.back());
      }
    }
    HEADWISE_TRY(exchange(out, in));
    for (std::size_t n = 0; n < shards_.size(); ++n) {
      copy_rows<T>(rows_of<const T>(in[shards_[n].rank], shards_[n]),
                   place_in(whole, n));
    }
    return ok();
  }

  // And back. No view: the rank does not want them.
  Status to_tokens(TensorView<const T, 4> whole, TensorView<T, 4> own) const {
    std::vector<Tensor<T, 4>> out;
    std::vector<Tensor<T, 4>> in;
    for (std::size_t rank = 0; rank < group_.ranks(); ++rank) {
      HEADWISE_TRY(add_message(rank, group_.rank(), whole.extent(3), out));
      HEADWISE_TRY(add_message(group_.rank(), rank, whole.extent(3), in));
    }
    for (std::size_t n = 0; n < shards_.size(); ++n) {
      copy_rows<T>(place_in(whole, n),
                   rows_of<T>(out[shards_[n].rank], shards_[n]));
    }
    HEADWISE_TRY(exchange(out, in));
    for (std::size_t rank = 0; rank < group_.ranks(); ++rank) {
      if (in[rank].size() != 0 && own.data() != nullptr) {
        copy_rows<T>(TensorView<const T, 4>(in[rank]),
                     part_along(axes_.heads, own, heads_[rank]));
      }
    }
    return ok();
  }

 private:
  // The rows of rank `tokens` of the heads of rank `heads`.
  Status add_message(std::size_t tokens, std::size_t heads, std::size_t last,
                     std::vector<Tensor<T, 4>>& messages) const {
    Extents<4> extents = {1, 1, 1, last};
    extents[axes_.rows] = rows_of_rank(shards_, tokens);
    extents[axes_.heads] = heads_[heads].count;
    HEADWISE_ASSIGN(auto message, Tensor<T, 4>::create_unset(extents));
    messages.push_back(std::move(message));
    return ok();
  }

  Status exchange(const std::vector<Tensor<T, 4>>& out,
                  std::vector<Tensor<T, 4>>& in) const {
    std::vector<std::span<const std::byte>> sent;
    for (const Tensor<T, 4>& message : out) {
      sent.push_back(bytes_of(message.data(), message.size()));
    }
    return group_.exchange(sent, writable_bytes_of(in));
  }

  template <class U>
  TensorView<U, 4> rows_of(TensorView<U, 4> message, const Shard& shard) const {
    return part_along(axes_.rows, message, {shard.row, shard.tokens.count});
  }
  template <class U>
  TensorView<U, 4> place_in(TensorView<U, 4> whole, std::size_t n) const {
    return part_along(axes_.rows, part_along(0, whole, {places_[n].batch, 1}),
                      places_[n].rows);
  }

  Communicator& group_;
  std::span<const PartRange> heads_;
  std::span<const Shard> shards_;
  std::span<const WholeRows> places_;
  HeadAxes axes_;
};

// Where the queries, or the keys, of each shard are in the whole tensors.
inline std::vector<WholeRows> places_of(const AttentionShape& shape,
                                        std::span<const Shard> shards,
                                        bool keys) {
  std::vector<WholeRows> places;
  for (const Shard& shard : shards) {
    const SequencePlace place = shape.sequence(shard.sequence);
    const std::size_t first = keys ? place.first_key : place.first_query;
    places.push_back(
        {place.batch, {first + shard.tokens.first, shard.tokens.count}});
  }
  return places;
}

// The exchanges of one call. What it is made of must outlive it.
class HeadExchanges {
 public:
  HeadExchanges(Communicator& group, const AttentionShape& shape,
                const Shards& shards, const RankHeads& heads)
      : group_(group),
        heads_(heads),
        queries_(shards.queries.begin(), shards.queries.end()),
        keys_(shards.keys),
        query_places_(places_of(shape, queries_, false)),
        key_places_(places_of(shape, keys_, true)) {}

  template <class T>
  HeadExchange<T> queries(const HeadAxes& axes = kRowsFirst) const {
    return {group_, heads_.query, queries_, query_places_, axes};
  }
  template <class T>
  HeadExchange<T> keys() const {
    return {group_, heads_.key, keys_, key_places_, kRowsFirst};
  }

 private:
  Communicator& group_;
  const RankHeads& heads_;
  std::vector<Shard> queries_;
  const std::vector<Shard>& keys_;
  std::vector<WholeRows> query_places_;
  std::vector<WholeRows> key_places_;
};

}  // namespace headwise::inline HEADWISE_ABI
