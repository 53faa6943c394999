// The queries of a head in chunks. What several rows give together, columns and
// maps, is summed within a chunk in the rows' order, then over the chunks in
// theirs, so that the bits do not depend on which worker takes which chunk.
#pragma once

#include <cstddef>
#include <span>

#include "attention/forward/packed_head.h"
#include "attention/forward/query_tile.h"
#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"

namespace headwise::inline HEADWISE_ABI {

class ChunkedRows {
 public:
  // Chunks of a head, of which the last ones may have no query.
  static constexpr std::size_t kMost = 16;
  // No sequence of up to this number of queries has more with a query.
  static std::size_t most_of(std::size_t queries);

  ChunkedRows(const AttentionSpec& spec, const CallTensors& tensors)
      : spec_(spec), tensors_(tensors) {}

  struct QueryHead {
    std::size_t b;
    std::size_t h;
  };
  // Attends with the queries of a chunk; `together` receives their sums. `head`
  // has the keys of the query head.
  void run(const QueryHead& of, std::size_t number, const PackedHead& head,
           std::span<QueryTile> tiles, const RowsTogether& together) const;
  // Writes the sums of a head. `chunks`: at least those that have a query.
  void join(const QueryHead& of, std::span<const RowsTogether> chunks) const;

 private:
  void join_columns(const QueryHead& of,
                    std::span<const RowsTogether> chunks) const;
  void join_maps(const QueryHead& of,
                 std::span<const RowsTogether> chunks) const;

  const AttentionSpec& spec_;
  const CallTensors& tensors_;
};

}  // namespace headwise::inline HEADWISE_ABI
