// The sizes of one call of attention.
#pragma once

#include <cstddef>

#include "headwise/steps/head_groups.h"
#include "headwise/steps/offsets.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Where the rows of one sequence are in the tensors.
struct SequencePlace {
  std::size_t batch;        // on the batch axis
  std::size_t first_query;  // where its query 0 is on the axis of queries
  std::size_t Lq;
  std::size_t first_key;
  std::size_t Lkv;
};

struct AttentionShape {
  std::size_t B = 0;    // batch
  std::size_t Hq = 0;   // query heads
  std::size_t Hkv = 0;  // key and value heads
  std::size_t Lq = 0;   // queries; in a ragged batch, of the longest sequence
  std::size_t Lkv = 0;  // keys; likewise
  std::size_t D = 0;    // head size of query and key
  std::size_t Dv = 0;   // head size of value
  Offsets offsets{};    // for a ragged batch
  HeadGroups kv_groups{};  // even: Hq is a multiple of Hkv

  // Which query heads read which key and value head.
  HeadMap heads() const { return {Hq, Hkv, kv_groups}; }
  std::size_t first_query_head(std::size_t g) const { return heads().first(g); }
  std::size_t group_size(std::size_t g) const { return heads().size(g); }
  std::size_t largest_group() const { return heads().largest(); }
  std::size_t kv_head(std::size_t h) const { return heads().kv_head(h); }

  SequencePlace sequence(std::size_t b) const {
    if (!offsets.ragged()) {
      return {b, 0, Lq, 0, Lkv};
    }
    const auto first_query = static_cast<std::size_t>(offsets.query(b));
    const auto first_key = static_cast<std::size_t>(offsets.key(b));
    const bool batched = offsets.batched_queries();
    return {batched ? b : 0, batched ? 0 : first_query,
            static_cast<std::size_t>(offsets.query(b + 1)) - first_query,
            first_key,
            static_cast<std::size_t>(offsets.key(b + 1)) - first_key};
  }
  // Whether the queries of all sequences follow one another on one axis.
  bool has_query_rows() const {
    return offsets.ragged() && !offsets.batched_queries();
  }
  // The extents of the tensors along the batch axis and the axes of rows.
  std::size_t batches() const { return has_query_rows() ? 1 : B; }
  std::size_t query_rows() const {
    return has_query_rows() ? static_cast<std::size_t>(offsets.query(B)) : Lq;
  }
  std::size_t key_rows() const {
    return offsets.ragged() ? static_cast<std::size_t>(offsets.key(B)) : Lkv;
  }
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
