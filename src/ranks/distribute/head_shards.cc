#include "distribute/head_shards.h"

#include <algorithm>

namespace headwise::inline HEADWISE_ABI {
namespace {

// The number of key heads from `first` on that have at most `most` query heads
// together.
std::size_t heads_within(const HeadMap& map, std::size_t first,
                         std::size_t kv_heads, std::size_t most) {
  std::size_t end = first;
  while (end < kv_heads && map.first(end + 1) - map.first(first) <= most) {
    ++end;
  }
  return end - first;
}

// Whether the ranks suffice if each has at most `most` query heads.
bool suffice(const HeadMap& map, const ShardRequest& request,
             std::size_t most) {
  std::size_t first = 0;
  for (std::size_t r = 0; r < request.ranks; ++r) {
    first += heads_within(map, first, request.kv_heads, most);
  }
  return first == request.kv_heads;
}

// The smallest number for which they do.
std::size_t largest_share(const HeadMap& map, const ShardRequest& request) {
  std::size_t low = std::max<std::size_t>(map.largest(), 1);
  std::size_t high = std::max(request.heads, low);
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (suffice(map, request, middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace

std::vector<HeadRange> head_shards(const ShardRequest& request) {
  const HeadMap map(request.heads, request.kv_heads, request.kv_groups);
  const std::size_t most = largest_share(map, request);
  std::vector<HeadRange> shards(request.ranks);
  std::size_t first = 0;
  for (std::size_t r = 0; r < request.ranks; ++r) {
    // Each of the ranks after this one gets a head, too, where they suffice.
    const std::size_t left = request.kv_heads - first;
    const std::size_t later = request.ranks - r - 1;
    const std::size_t kept =
        left > later ? left - later : std::min<std::size_t>(left, 1);
    shards[r] = {first, std::min(kept, heads_within(map, first,
                                                    request.kv_heads, most))};
    first += shards[r].count;
  }
  return shards;
}

}  // namespace headwise::inline HEADWISE_ABI
