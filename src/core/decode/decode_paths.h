// The ways in which decode_kernel serves a call. The bytes are the most for
// calls like `spec`, of any lengths, where nothing else is said.
#pragma once

#include <cstddef>

#include "decode/decode_call.h"

namespace headwise::inline HEADWISE_ABI {

// Sequences of few queries, up to kFewQueries; the others are left out. The
// bytes are for up to `max_queries` queries of any sequences.
//
// Rows that read the stored keys and values as they are.
bool reads_stored_rows(const DecodeCall& call);  // whether this path serves
std::size_t decode_rows_bytes(const AttentionSpec& spec,
                              const KvCacheOptions& options,
                              std::size_t max_queries);
void decode_rows(const DecodeCall& call, std::byte* workspace);

// On a cache whose values are in the keys: the rows of all query heads of a
// group are the lanes of a tile. Where there are few of them, tasks are blocks
// of keys, whose results are folded in order.
bool reads_groups(const DecodeCall& call);  // whether this path serves
std::size_t decode_groups_bytes(const AttentionSpec& spec,
                                const KvCacheOptions& options,
                                std::size_t max_queries);
void decode_groups(const DecodeCall& call, std::byte* workspace);

// Sequences of many queries, or calls with options that only tiles serve: a
// block of stored keys is packed once for several tiles of queries. Leaves
// sequences of fewer queries than `least` out.
std::size_t decode_tiles_bytes(const AttentionSpec& spec,
                               const KvCacheOptions& options);
void decode_tiles(const DecodeCall& call, std::size_t least,
                  std::byte* workspace);

// Calls with statistics: the rows of each query head in chunks, as
// attention/statistics sums them. Columns take memory for the longest sequence
// that the cache has room for.
std::size_t decode_statistics_bytes(const AttentionSpec& spec,
                                    const CacheState& cache,
                                    std::size_t max_queries);
void decode_statistics(const DecodeCall& call, std::byte* workspace);

// Calls whose attention weights are the mean over the query heads: a task is
// some queries of every head in turn. Takes memory for the weights of the
// longest sequence that the cache has room for.
std::size_t decode_mean_bytes(const AttentionSpec& spec,
                              const CacheState& cache);
void decode_mean(const DecodeCall& call, std::byte* workspace);

}  // namespace headwise::inline HEADWISE_ABI
