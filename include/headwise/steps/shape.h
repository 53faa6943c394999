// The sizes of one call of attention.
#pragma once

#include <cstddef>

#include "headwise/steps/offsets.h"

namespace headwise {

// Where the rows of one sequence stand in the tensors.
struct SequencePlace {
  std::size_t batch;        // on the batch axis
  std::size_t first_query;  // its query 0 on the axis of queries
  std::size_t Lq;
  std::size_t first_key;
  std::size_t Lkv;
};

struct AttentionShape {
  std::size_t B = 0;    // batch
  std::size_t Hq = 0;   // query heads
  std::size_t Hkv = 0;  // key and value heads; Hq is a multiple
  std::size_t Lq = 0;   // queries; in a ragged batch, of the longest sequence
  std::size_t Lkv = 0;  // keys; likewise
  std::size_t D = 0;    // head size of query and key
  std::size_t Dv = 0;   // head size of value
  Offsets offsets{};    // of a ragged batch

  // The key and value head that query head `h` reads.
  std::size_t kv_head(std::size_t h) const { return h / (Hq / Hkv); }

  SequencePlace sequence(std::size_t b) const {
    if (!offsets.ragged()) {
      return {b, 0, Lq, 0, Lkv};
    }
    const auto first_query = static_cast<std::size_t>(offsets.query(b));
    const auto first_key = static_cast<std::size_t>(offsets.key(b));
    return {0, first_query,
            static_cast<std::size_t>(offsets.query(b + 1)) - first_query,
            first_key,
            static_cast<std::size_t>(offsets.key(b + 1)) - first_key};
  }
  // The extents of the tensors' batch axis and axes of rows.
  std::size_t batches() const { return offsets.ragged() ? 1 : B; }
  std::size_t query_rows() const {
    return offsets.ragged() ? static_cast<std::size_t>(offsets.query(B)) : Lq;
  }
  std::size_t key_rows() const {
    return offsets.ragged() ? static_cast<std::size_t>(offsets.key(B)) : Lkv;
  }
};

}  // namespace headwise
