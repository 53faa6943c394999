// The call of the benchmarks of ranks: causal attention with 8 heads of 64
// features, forward, or forward and backward.
#pragma once

#include <cstddef>

#include "headwise/headwise.h"
#include "headwise/io.h"

namespace headwise {

constexpr std::size_t kHeads = 8;
constexpr std::size_t kHeadDim = 64;

struct CallSettings {
  std::size_t length = 0;
  bool backward = false;
  std::size_t pieces = 0;  // of plan_shards()
  std::size_t chunk_keys = 3072;
};

// (1, rows, heads, head_dim), but softmax_rows; gradients only where they are
// wanted.
struct Tensors {
  Tensor<float, 4> query, key, value, output, d_output;
  Tensor<float, 4> rows;
  Tensor<float, 4> d_query, d_key, d_value;
};

Result<Tensors> make_tensors(std::size_t rows, bool backward);

// By one process, and by all ranks of a group.
Status alone(Tensors& whole, const AttentionOptions& options, bool backward);
Status together(Communicator& group, const ContextCall& call, Tensors& own,
                bool backward);

// The call on `ranks` ranks.
Result<ContextCall> call_of(std::size_t ranks, const CallSettings& settings,
                            const AttentionOptions& options);
std::size_t rows_of(const RankShare& share);

}  // namespace headwise
