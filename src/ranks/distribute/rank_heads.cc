#include "distribute/rank_heads.h"

#include <string>

#include "base/check.h"
#include "distribute/head_shards.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

PartRange query_heads(const AttentionShape& shape, const HeadRange& key) {
  const std::size_t first = shape.first_query_head(key.first);
  return {first, shape.first_query_head(key.first + key.count) - first};
}

void add(const AttentionShape& shape, const HeadRange& key, RankHeads& heads) {
  heads.query.push_back(key.count == 0 ? PartRange() : query_heads(shape, key));
  heads.key.push_back(key.count == 0 ? PartRange()
                                     : PartRange{key.first, key.count});
}

}  // namespace

Result<RankHeads> heads_of(const ShardPlan& plan, std::size_t ranks,
                           const AttentionShape& shape,
                           std::string_view operation) {
  RankHeads heads;
  std::size_t next = 0;
  bool fits = plan.ranks.size() == ranks;
  for (const RankShare& rank : plan.ranks) {
    const HeadRange& key = rank.kv_heads;
    if (key.count != 0) {
      fits = fits && key.first == next && key.count <= shape.Hkv - next;
      if (!fits) {
        break;
      }
      next += key.count;
      const PartRange query = query_heads(shape, key);
      fits = rank.heads == HeadRange{query.first, query.count};
    }
    add(shape, key, heads);
  }
  if (!fits || next != shape.Hkv) {
    return argument_error(
        operation, "heads.ranks",
        message("is not a division of {} key heads among {} ranks", shape.Hkv,
                ranks),
        "each key head and its query heads on one rank");
  }
  return heads;
}

RankHeads planned_heads(const AttentionShape& shape, std::size_t ranks) {
  RankHeads heads;
  for (const HeadRange& key : head_shards({.ranks = ranks,
                              .heads = shape.Hq,
                              .kv_heads = shape.Hkv,
                              .kv_groups = shape.kv_groups})) {
    add(shape, key, heads);
  }
  return heads;
}

}  // namespace headwise::inline HEADWISE_ABI
