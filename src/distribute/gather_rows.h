// The tokens of all ranks on each of them.
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
Result<Tensor<float, 3>> gather_rows(Communicator& group, std::size_t B,
                                     std::size_t L,
                                     const std::vector<SomeShard>& shards,
                                     TensorView<const float, 3> own) {
  const std::size_t features = own.extent(2);
  const auto make = [&](std::size_t rows) {
    return Tensor<float, 4>::create_unset({1, rows, 1, features});
  };
  auto sent = make(own.extent(1));
  HEADWISE_TRY(sent);
  copy_rows<float>({own.data(),
                    sent->extents(),
                    {own.stride(0), own.stride(1), 0, own.stride(2)}},
                   *sent);
  std::vector<Tensor<float, 4>> parts;
  std::vector<std::span<std::byte>> in;
  for (std::size_t rank = 0; rank < group.ranks(); ++rank) {
    auto part = make(rows_of_rank(shards, rank));
    HEADWISE_TRY(part);
    parts.push_back(*std::move(part));
    in.push_back(writable_bytes_of(parts.back().data(), parts.back().size()));
  }
  const std::vector<std::span<const std::byte>> out(
      group.ranks(), bytes_of(sent->data(), sent->size()));
  HEADWISE_TRY(group.exchange(out, in));
  auto whole = Tensor<float, 3>::create_unset({B, L, features});
  HEADWISE_TRY(whole);
  float* to = whole->data();
  for (const Shard& shard : shards) {
    to = std::copy_n(parts[shard.rank].data() + shard.row * features,
                     shard.tokens.count * features, to);
  }
  return whole;
}

}  // namespace headwise::inline HEADWISE_ABI
