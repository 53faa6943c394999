#include "decode/decode_kernel.h"

#include <algorithm>

#include "attention/schedule.h"
#include "decode/decode_paths.h"

namespace headwise::inline HEADWISE_ABI {

std::size_t decode_workspace_bytes(const AttentionSpec& spec,
                                   const CacheState& cache,
                                   std::size_t max_queries) {
  const KvCacheOptions& options = cache.options;
  return std::max({decode_tiles_bytes(spec, options),
                   decode_rows_bytes(spec, options, max_queries),
                   decode_groups_bytes(spec, options, max_queries),
                   decode_statistics_bytes(spec, cache, max_queries),
                   decode_mean_bytes(spec, cache)});
}

void decode_kernel(const DecodeCall& call, std::byte* workspace) {
  if (call.spec.statistics.any()) {
    decode_statistics(call, workspace);
    return;
  }
  if (call.spec.attn_weights == AttnWeights::mean) {
    decode_mean(call, workspace);
    return;
  }
  std::size_t least_of_tiles = kFewQueries + 1;
  if (reads_stored_rows(call)) {
    decode_rows(call, workspace);
  } else if (reads_groups(call)) {
    decode_groups(call, workspace);
  } else {
    least_of_tiles = 1;
  }
  if (call.spec.shape.Lq >= least_of_tiles) {
    decode_tiles(call, least_of_tiles, workspace);
  }
}

}  // namespace headwise::inline HEADWISE_ABI
