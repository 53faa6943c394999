#include "distribute/shards.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "steps/stored_rule.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Error incomplete(std::string_view operation, std::string_view argument,
                 std::size_t sequence, std::size_t tokens) {
  return argument_error(operation, argument,
                        message("is not a division of sequence {} of {} tokens",
                                sequence, tokens),
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
           next->piece.range.first == first && next->rank < ranks &&
           next->piece.range.tokens <= tokens(b) - first;
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

Interval overlap(const Interval& a, const Interval& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}
bool is_empty(const Interval& keys) { return keys.begin >= keys.end; }

// Those that meet or overlap become one.
std::vector<Interval> joined_intervals(std::vector<Interval> intervals) {
  std::ranges::sort(intervals, {}, &Interval::begin);
  std::vector<Interval> all;
  for (const Interval& next : intervals) {
    if (all.empty() || next.begin > all.back().end) {
      all.push_back(next);
    } else {
      all.back().end = std::max(all.back().end, next.end);
    }
  }
  return all;
}

}  // namespace

Result<Shards> shards_of(const ShardPlan& plan, std::size_t ranks,
                         const BoundMask& mask, std::string_view operation) {
  const AttentionShape& shape = mask.shape();
  const std::size_t sequences = sequences_with_tokens(shape);
  HEADWISE_ASSIGN(const auto queries,
                  shards_in_order(
                      plan.queries, ranks, sequences,
                      [&](std::size_t b) { return shape.sequence(b).Lq; },
                      operation, "plan.queries"));
  HEADWISE_ASSIGN(auto keys,
                  shards_in_order(
                      plan.keys, ranks, sequences,
                      [&](std::size_t b) { return shape.sequence(b).Lkv; },
                      operation, "plan.keys"));
  Shards shards{{}, std::move(keys), mask};
  for (const Shard& shard : queries) {
    shards.queries.push_back({shard, seen_keys(mask, shard)});
  }
  return shards;
}

std::vector<PartRange> seen_keys(const BoundMask& mask, const Shard& queries) {
  const std::size_t b = queries.sequence;
  const auto keys = static_cast<std::int64_t>(mask.shape().sequence(b).Lkv);
  const internal::QueryRows rows = {b,
                                    queries.tokens.first,
                                    queries.tokens.count,
                                    mask.query_start(b),
                                    {0, keys}};
  std::vector<Interval> seen = {rows.within};
  for (const internal::StoredMaskRule& rule : mask.rules()) {
    std::vector<Interval> of_both;
    for (const Interval& by_rule : rule.type->seen(rule, rows)) {
      for (const Interval& by_others : seen) {
        const Interval both = overlap(by_rule, by_others);
        if (!is_empty(both)) {
          of_both.push_back(both);
        }
      }
    }
    seen = joined_intervals(std::move(of_both));
  }
  std::vector<PartRange> ranges;
  for (const auto& [begin, end] : seen) {
    if (begin < end) {  // not the keys of an empty sequence
      ranges.push_back({static_cast<std::size_t>(begin),
                        static_cast<std::size_t>(end - begin)});
    }
  }
  return ranges;
}

Shards undivided(const BoundMask& mask) {
  Shards shards{{}, {}, mask};
  const AttentionShape& shape = mask.shape();
  for (std::size_t b = 0; b < sequences_with_tokens(shape); ++b) {
    const Shard queries = {.sequence = b, .tokens = {0, shape.sequence(b).Lq}};
    if (queries.tokens.count != 0) {
      shards.queries.push_back({queries, seen_keys(mask, queries)});
    }
  }
  return shards;
}

std::size_t sequences_with_tokens(const AttentionShape& shape) {
  return shape.query_rows() == 0 && shape.key_rows() == 0 ? 0 : shape.B;
}

bool sees(const QueryShard& queries, const Shard& keys) {
  return std::ranges::any_of(queries.seen, [&](const PartRange& seen) {
    return seen.first < keys.tokens.first + keys.tokens.count &&
           keys.tokens.first < seen.first + seen.count;
  });
}

}  // namespace headwise::inline HEADWISE_ABI
