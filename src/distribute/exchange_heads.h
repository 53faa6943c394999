// Tensors that go from ranks that have some tokens of all heads to ranks that
// have all tokens of some heads, and back.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "distribute/copy_rows.h"
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
               std::vector<Shard> shards, std::vector<WholeRows> places,
               const HeadAxes& axes)
      : group_(group),
        heads_(heads),
        shards_(std::move(shards)),
        places_(std::move(places)),
        axes_(axes) {}

  // From the rank's tokens of all heads to all tokens of its heads.
  Status to_heads(TensorView<const T, 4> own, TensorView<T, 4> whole) {
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
  Status to_tokens(TensorView<const T, 4> whole, TensorView<T, 4> own) {
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
                     std::vector<Tensor<T, 4>>& messages) {
    Extents<4> extents = {1, 1, 1, last};
    extents[axes_.rows] = rows_of_rank(shards_, tokens);
    extents[axes_.heads] = heads_[heads].count;
    auto message = Tensor<T, 4>::create_unset(extents);
    HEADWISE_TRY(message);
    messages.push_back(*std::move(message));
    return ok();
  }

  Status exchange(const std::vector<Tensor<T, 4>>& out,
                  std::vector<Tensor<T, 4>>& in) {
    std::vector<std::span<const std::byte>> sent;
    std::vector<std::span<std::byte>> received;
    for (std::size_t rank = 0; rank < group_.ranks(); ++rank) {
      sent.push_back(bytes_of(out[rank].data(), out[rank].size()));
      received.push_back(writable_bytes_of(in[rank].data(), in[rank].size()));
    }
    return group_.exchange(sent, received);
  }

  template <class U>
  TensorView<U, 4> rows_of(TensorView<U, 4> message, const Shard& shard) {
    return part_along(axes_.rows, message, {shard.row, shard.tokens.count});
  }
  template <class U>
  TensorView<U, 4> place_in(TensorView<U, 4> whole, std::size_t n) {
    return part_along(axes_.rows, part_along(0, whole, {places_[n].batch, 1}),
                      places_[n].rows);
  }

  Communicator& group_;
  std::span<const PartRange> heads_;
  std::vector<Shard> shards_;
  std::vector<WholeRows> places_;
  HeadAxes axes_;
};

}  // namespace headwise::inline HEADWISE_ABI
