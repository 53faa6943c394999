// One block of queries in the backward pass: against the blocks of one head's
// keys, in order, it gathers its own gradients and adds to those of the keys
// and values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "attention/backward/gradient_head.h"
#include "attention/backward/wanted_gradients.h"
#include "attention/forward/query_tile.h"
#include "attention/forward/tile_scores.h"
#include "kernels/gradient_tile.h"
#include "run/arena.h"
#include "steps/tile.h"

namespace headwise::inline HEADWISE_ABI {

// The memory in which a worker computes a block of queries against a block of
// keys. The queries are divided into parts, one after another, each with as
// many as a tile of this machine holds: arrays are (parts, keys, lanes) and
// (parts, keys).
struct GradientScratch {
  GradientScratch(const AttentionSpec& spec, Arena& arena);

  float* p;          // scores, then attention weights
  float* d_scores;   // the weights' gradients, then the scores'
  float* slope;      // softcap's derivative
  float* given;      // of one part: gradients of returned weights
  float* diagonals;  // sums of d_scores
  float* distance;   // of one part: ALiBi's, negative
  float* output_t;   // of one part: (Dv, lanes)
  // In bf16: of one part, d_scores in pairs of keys; and p or d_scores in pairs
  // of queries.
  float* key_pairs;
  float* query_pairs;
  kernels::MaskWord* allowed;  // which query may attend to which key
  kernels::MaskWord* read;     // and which values a uniform row reads
  kernels::MaskWord* kept;     // of one part: by dropout
};

// What each block of queries leaves, to be summed over all of them in order; no
// view: not wanted. The extents of the batch axis and of the rows are those of
// the query.
struct BlockShares {
  TensorView<float, 3> slopes;        // (B, Hq, Lq)
  TensorView<float, 4> t5_bias;       // (B, Hq, blocks, buckets)
  TensorView<float, 4> score_weight;  // (B, Hq, blocks, D)
  TensorView<float, 3> sinks;         // (B, Hq, Lq)
};

// Where the blocks of a ragged sequence begin among all blocks of the batch: a
// sequence whose first query is row `first` has `b` sequences before it, each
// with at most one block that is not full.
inline std::size_t first_share_block(std::size_t b, std::size_t first) {
  return first / kernels::kQueryBlock + b;
}
inline std::size_t first_share_block(const AttentionShape& shape,
                                     std::size_t b) {
  return shape.offsets.ragged()
             ? first_share_block(b, shape.sequence(b).first_query)
             : 0;
}

// The queries of a block, or the gradients of their outputs, as rows.
struct PackedRows {
  PackedRows() = default;
  PackedRows(std::size_t width, bool in_pairs, Arena& arena);

  std::size_t columns = 0;
  std::size_t size = 0;    // row_size(columns)
  float* rows = nullptr;   // (queries, size)
  float* pairs = nullptr;  // in bf16 the same by pairs, those of each part
  bool finite = true;      // every number, as it is multiplied
};

class GradientBlock {
 public:
  // Some of the block's queries: [first, first + queries) of it.
  struct Part {
    std::size_t first;
    std::size_t queries;
    std::size_t lanes;
  };
  // What differentiate() found.
  struct Gradients {
    Tile tile;    // of all parts; no keys: there are none
    bool scores;  // not only those of uniform rows
    bool masked;  // own.allowed and own.read say which values are read
  };

  GradientBlock(const AttentionSpec& spec, const WantedGradients& wanted,
                Arena& arena);

  // Takes at most kQueryBlock queries of a row of blocks.
  void begin(const QueryRange& range, const CallTensors& tensors,
             const GradientScratch& own);
  // Then, unless the call has the first keys: goes on from a state.
  void resume(const CallTensors& tensors);
  // Where returned attention weights have a gradient: adds it to Delta, before
  // the first block is taken.
  void add_given(const GradientHead& head, const GradientScratch& own);
  // The block against a block of keys: attention weights and the gradients of
  // the scores, in own.p and own.d_scores.
  Gradients differentiate(const GradientHead& head, std::size_t block,
                          const GradientScratch& own);
  // The same, and adds what follows to the gradients of the head's keys and
  // values and of the queries, where they are wanted. The blocks of keys come
  // in their order.
  void take(const GradientHead& head, std::size_t block,
            const GradientScratch& own);
  // Writes the queries' gradients and the block's shares, where they are
  // wanted.
  void finish(const CallTensors& tensors, const BlockShares& shares) const;
  // Unless the call has the last keys: writes the state instead.
  void save(const CallTensors& tensors) const;

  std::size_t parts() const;
  Part part(std::size_t n) const;

 private:
  Tile tile_of(const GradientHead& head, std::size_t block) const;
  TileKind kind_of(const GradientHead& head, std::size_t block,
                   const Tile& tile) const;
  // The tile of one part.
  static Tile tile_of(const Tile& tile, const Part& part);
  // The block's rows of a tensor.
  void pack(const TensorArg& tensor, PackedRows& to) const;
  kernels::SavedRows saved_rows(std::size_t n) const;
  void load_rows(TensorView<const float, 4> softmax_rows);
  void score(const GradientHead& head, std::size_t block, const Tile& tile,
             std::size_t n, const GradientScratch& own) const;
  // `uniform_rows`: those that read all values of the tile.
  void fill_words(const Tile& tile, TileKind kind, std::size_t n,
                  std::uint64_t uniform_rows, const GradientScratch& own) const;
  // own.given = the gradient that came with the weights of the part.
  void load_given(const Tile& tile, std::size_t n, bool masked,
                  const GradientScratch& own) const;
  // d_scores = the chain of d_output and the values.
  void weights_gradient(const GradientHead& head, std::size_t block,
                        const Tile& tile, const Part& own_part,
                        float* d_scores) const;
  void differentiate_part(const GradientHead& head, std::size_t block,
                          const Tile& tile, std::size_t n, bool masked,
                          const GradientScratch& own);
  void set_uniform_rows(const Tile& tile, std::size_t n,
                        const GradientScratch& own) const;
  void add_slopes(const Tile& tile, std::size_t n, const GradientScratch& own);
  void add_t5_bias(const Tile& tile, const GradientScratch& own);
  // d_query += the chain of d_scores and the keys.
  void add_to_query(const GradientHead& head, std::size_t block,
                    std::size_t keys, kernels::MaskWord* allowed, bool masked,
                    const Part& own_part, const GradientScratch& own) const;
  // sums += the chains of the rows and `parts`, p or d_scores, over the
  // queries.
  void add_to_keys(std::span<kernels::QueryPart> parts, std::size_t keys,
                   const PackedRows& rows, const GradientScratch& own,
                   float* sums) const;
  // What follows from the gradients of the plain scores, own.d_scores.
  void add_operands(const GradientHead& head, std::size_t block,
                    const Gradients& found, const GradientScratch& own);
  // Whether they read the queries in rows.
  bool reads_query_rows() const {
    return wanted_.keys || (wanted_.queries && spec_.additive());
  }
  void store_query(const TensorArg& to, float scale) const;
  void store_slopes(TensorView<float, 3> slopes) const;
  // The block's place among the shares.
  std::size_t share() const;
  void store_t5_bias(TensorView<float, 4> t5_bias) const;
  void store_score_weight(TensorView<float, 4> score_weight) const;
  void store_sinks(TensorView<float, 3> sinks) const;

  const AttentionSpec& spec_;
  WantedGradients wanted_;
  const kernels::AttentionTile& loops_;
  const kernels::GradientTile& gradient_loops_;
  const kernels::AdditiveTile& additive_loops_;
  const kernels::TileLayout& layout_;
  const kernels::PairTile& pairs_;
  TileScores tile_scores_;
  const CallTensors* tensors_ = nullptr;
  QueryRange range_{};
  SequencePlace place_{};
  // The queries see no key outside [begin, end).
  std::size_t visible_begin_ = 0;
  std::size_t visible_end_ = 0;
  // One bit per query. Left out: it has no key, or nothing depends on it.
  std::uint64_t left_out_ = 0;
  std::uint64_t uniform_ = 0;  // of these, reads all values
  float* q_t_;                 // (parts, packed_key_size, lanes)
  float* d_output_t_;          // (parts, Dv, lanes)
  float* d_output_pairs_t_;    // the same in pairs, if values are in pairs
  // Null where nothing wanted needs them, as those below:
  PackedRows q_;
  PackedRows d_output_;
  float* d_query_;  // (parts, D8, lanes); additive: (queries, row_size(D))
  float* d_w_;      // additive: of the score_weight, (queries, row_size(D))
  float* max_;      // (parts, lanes), and so on
  float* reciprocal_;
  float* delta_;
  float* d_slopes_;
  float* d_t5_bias_;  // (buckets)
};

}  // namespace headwise::inline HEADWISE_ABI
