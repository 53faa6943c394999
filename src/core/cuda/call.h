// A call of attention as kernels read it: plain numbers and pointers into
// device memory. bind_call.h makes it from a checked AttentionSpec.
#pragma once

#include <cstddef>
#include <cstdint>

#include "headwise/steps/softmax.h"

namespace headwise::inline HEADWISE_ABI::cuda {

// A strided tensor on the device, strides in elements.
template <class T, int kRank>
struct DeviceTensor {
  T* data = nullptr;
  std::int64_t strides[kRank] = {};
};

// A tensor over the scores, by B, H, Lq, Lkv; the stride 0 broadcasts.
template <class T>
using OverScores = DeviceTensor<T, 4>;

// The keys [begin, end) that a query may attend to, as far as the rules are
// intervals: all but padding, dense masks and biases of -inf.
struct KeyRange {
  int begin;
  int end;
};

// Some queries of one sequence, for every head, and which keys they see: none
// sees keys outside [begin, end), all see those inside [full_begin, full_end).
struct QueryTile {
  int b;
  int first_query;
  int queries;
  int begin;
  int end;
  int full_begin;
  int full_end;
  int block_origin;  // blocks of keys are aligned here
};

// Some keys of one sequence: no query outside [begin, end) sees one of them,
// every query inside [full_begin, full_end) sees them all. Whole blocks of
// queries.
struct KeyTile {
  int b;
  int first_key;
  int begin;
  int end;
  int full_begin;
  int full_end;
};

// What a block of threads does next: a tile for one head.
struct WorkItem {
  int tile;
  int h;
};

// A pass over tiles: its tiles, and the counter of the next one.
struct TiledWork {
  const std::byte* tiles;  // QueryTile or KeyTile
  const WorkItem* work;
  int work_items;
  int* next_item;  // the counter that deals them out, 0 at the start
};

inline constexpr int kMostDenseMasks = 4;

// Made as Call{}; kernels take it as it is, so it has no constructor.
struct Call {             // NOLINT(cppcoreguidelines-pro-type-member-init)
  int B, Hq, Hkv, group;  // group: query heads a key head
  int Lq, Lkv;            // of the longest sequence
  int D, Dv;

  // (B + 1), of a ragged batch; null: it is not ragged.
  const int* query_offsets;
  const int* key_offsets;
  const KeyRange* key_ranges;        // (B, Lq); null: all keys
  const std::int64_t* query_starts;  // (B)

  int dense_masks;
  OverScores<const bool> dense[kMostDenseMasks];

  float scale;    // times log2 e
  float softcap;  // times log2 e; 0: none
  float inverse_softcap;
  OverScores<const float> bias;
  const float* slopes;  // (Hq), times log2 e

  bool dropping;
  std::uint32_t dropout_key[2];
  std::uint64_t dropout_threshold;
  float dropout_factor;
  const std::uint32_t* sequence_ids;  // (B)
  OverScores<const bool> keep_mask;

  EmptyRow empty_rows;
};

}  // namespace headwise::inline HEADWISE_ABI::cuda
