// The tokens of all ranks together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "distribute/copy_rows.h"
#include "distribute/shards.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/distribute/communicator.h"

namespace headwise::inline HEADWISE_ABI {

// (B, L, features) from what each rank has of it, (1, rows, features). `shards`
// are all tokens, in order. Errors: out_of_memory, rank_failure.
template <class SomeShard>
class RowGathering {
 public:
  RowGathering(Communicator& group, std::size_t B, std::size_t L,
               const std::vector<SomeShard>& shards)
      : group_(group), B_(B), L_(L), shards_(shards) {}

  // On every rank.
  Result<Tensor<float, 3>> to_all(TensorView<const float, 3> own) const {
    HEADWISE_ASSIGN(const auto sent, in_one_piece(own));
    HEADWISE_ASSIGN(auto received, make_parts(own.extent(2)));
    const std::vector<std::span<const std::byte>> out(
        group_.ranks(), bytes_of(sent.data(), sent.size()));
    HEADWISE_TRY(group_.exchange(out, writable_bytes_of(received)));
    return joined(own.extent(2), received);
  }

  // On rank 0; on the others nothing.
  Result<Tensor<float, 3>> to_first(TensorView<const float, 3> own) const {
    HEADWISE_ASSIGN(const auto sent, in_one_piece(own));
    Parts received;
    if (group_.rank() == 0) {
      HEADWISE_ASSIGN(received, make_parts(own.extent(2)));
    }
    HEADWISE_TRY(group_.gather(bytes_of(sent.data(), sent.size()),
                               writable_bytes_of(received), 0));
    return group_.rank() == 0 ? joined(own.extent(2), received)
                              : Tensor<float, 3>();
  }

 private:
  using Parts = std::vector<Tensor<float, 4>>;

  static Result<Tensor<float, 4>> make(std::size_t rows, std::size_t features) {
    return Tensor<float, 4>::create_unset({1, rows, 1, features});
  }

  static Result<Tensor<float, 4>> in_one_piece(TensorView<const float, 3> own) {
    HEADWISE_ASSIGN(auto rows, make(own.extent(1), own.extent(2)));
    copy_rows<float>({own.data(),
                      rows.extents(),
                      {own.stride(0), own.stride(1), 0, own.stride(2)}},
                     rows);
    return rows;
  }

  Result<Parts> make_parts(std::size_t features) const {
    Parts parts;
    for (std::size_t rank = 0; rank < group_.ranks(); ++rank) {
      HEADWISE_ASSIGN(auto part, make(rows_of_rank(shards_, rank), features));
      parts.push_back(std::move(part));
    }
    return parts;
  }

  Result<Tensor<float, 3>> joined(std::size_t features,
                                  const Parts& parts) const {
    HEADWISE_ASSIGN(auto whole,
                    Tensor<float, 3>::create_unset({B_, L_, features}));
    float* to = whole.data();
    for (const Shard& shard : shards_) {
      to = std::copy_n(parts[shard.rank].data() + shard.row * features,
                       shard.tokens.count * features, to);
    }
    return whole;
  }

  Communicator& group_;
  std::size_t B_;
  std::size_t L_;
  const std::vector<SomeShard>& shards_;
};

}  // namespace headwise::inline HEADWISE_ABI
