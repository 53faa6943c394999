// A chunk of a call that goes through a cache: some queries of each sequence,
// their keys, and what attention gives for them. Rows of sequences are copied
// one after another, as in a ragged batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/steps/shape.h"
#include "run_call.h"

namespace headwise::cli {

// Neighbouring rows of one sequence.
struct Rows {
  std::size_t batch;
  std::size_t first;
  std::size_t count;
};

// (B + 1), where the rows of each sequence begin once they were gathered.
std::vector<std::int64_t> offsets_of(std::span<const Rows> rows);

// The rows of a tensor (B, L, H, D): (1, rows, H, D). Errors: out_of_memory.
Result<Tensor<float, 4>> gather(const TensorView<const float, 4>& from,
                                std::span<const Rows> rows);

// The keys that are there before the first query.
std::vector<Rows> past_of(const AttentionShape& shape);

struct Chunk {
  // `most` queries of each sequence from `from` on.
  Chunk(const AttentionShape& shape, std::size_t from, std::size_t most);

  std::size_t first;
  std::size_t longest = 0;  // queries
  std::vector<Rows> queries{};
  std::vector<Rows> keys{};
  std::vector<std::int64_t> lengths{};  // keys that the queries may see
  std::vector<std::size_t> all_keys{};  // of the whole sequences
};

// What attention gives for a chunk: attention weights and scores where they are
// asked for.
struct ChunkOutputs {
  Tensor<float, 4> output;  // (1, rows, H, Dv), of a layer (1, rows, 1, E)
  Tensor<float, 4> attn_weights;  // (B, H or 1, longest, longest length)
  Tensor<float, 3> lse;           // (1, H, rows)
  Tensor<float, 4> scores;        // (B, H, longest, longest length)

  // `output_of_call`: (B, L, H, Dv), of a layer (B, L, 1, E).
  void copy_to(RunResult& result, const TensorView<float, 4>& output_of_call,
               const Chunk& chunk) const;
};

}  // namespace headwise::cli
