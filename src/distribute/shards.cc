#include "distribute/shards.h"

#include <algorithm>
#include <string>

#include "base/check.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Error incomplete(std::string_view operation, std::string_view argument,
                 std::size_t sequence, std::size_t tokens) {
  return value_error(operation, argument,
                     "not a division of sequence " + std::to_string(sequence) +
                         " of " + std::to_string(tokens) + " tokens",
                     "each token on one rank");
}

// tokens(b) is the length of sequence b.
template <class Tokens>
Result<std::vector<Shard>> shards_in_order(std::span<const OwnedPiece> pieces,
                                           std::size_t ranks,
                                           std::size_t sequences,
                                           const Tokens& tokens,
                                           std::string_view operation,
                                           std::string_view argument) {
  std::vector<Shard> shards;
  std::vector<std::size_t> rows(ranks, 0);
  auto next = pieces.begin();
  for (std::size_t b = 0; b < sequences; ++b) {
    std::size_t first = 0;
    for (; next != pieces.end() && next->piece.sequence == b &&
           next->piece.range.first == first && next->rank < ranks;
         ++next) {
      const PartRange range = {first, next->piece.range.tokens};
      if (range.count != 0) {
        shards.push_back({next->rank, b, range, rows[next->rank]});
      }
      rows[next->rank] += range.count;
      first += range.count;
    }
    if (first != tokens(b)) {
      return incomplete(operation, argument, b, tokens(b));
    }
  }
  if (next != pieces.end()) {
    return incomplete(operation, argument, next->piece.sequence, 0);
  }
  return shards;
}

QueryShard with_seen_keys(const Shard& shard, const BoundMask& mask) {
  const std::size_t begin = mask.visible_begin(
      shard.sequence, shard.tokens.first, shard.tokens.count);
  const std::size_t end =
      mask.visible_end(shard.sequence, shard.tokens.first, shard.tokens.count);
  return {shard, {begin, end > begin ? end - begin : 0}};
}

}  // namespace

Result<Shards> shards_of(const ShardPlan& plan, std::size_t ranks,
                         const BoundMask& mask, std::string_view operation) {
  const AttentionShape& shape = mask.shape();
  const auto queries = shards_in_order(
      plan.queries, ranks, shape.B,
      [&](std::size_t b) { return shape.sequence(b).Lq; }, operation,
      "plan.queries");
  HEADWISE_TRY(queries);
  auto keys = shards_in_order(
      plan.keys, ranks, shape.B,
      [&](std::size_t b) { return shape.sequence(b).Lkv; }, operation,
      "plan.keys");
  HEADWISE_TRY(keys);
  Shards shards{{}, *std::move(keys)};
  for (const Shard& shard : *queries) {
    shards.queries.push_back(with_seen_keys(shard, mask));
  }
  return shards;
}

bool sees(const QueryShard& queries, const Shard& keys) {
  return queries.seen.first < keys.tokens.first + keys.tokens.count &&
         keys.tokens.first < queries.seen.first + queries.seen.count;
}

}  // namespace headwise::inline HEADWISE_ABI
