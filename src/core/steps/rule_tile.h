// What a rule says of a tile, derived from what it declares (mask_rule.h): what
// lets a kernel skip empty tiles and not test full ones. It must agree with
// what the rule says of each pair (MaskTileTest, MaskRuleTest).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "steps/booleans_tile.h"
#include "steps/mask_rule.h"
#include "steps/tile.h"

namespace headwise::internal::inline HEADWISE_ABI {

using Words = std::span<std::uint64_t>;

// The first `count` bits.
constexpr std::uint64_t low_bits(std::size_t count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

// Queries of a sequence, at least one; query 0 is at position `start`. Only the
// keys `within` matter.
struct QueryRows {
  std::size_t b;
  std::size_t first;
  std::size_t count;
  std::int64_t start;
  Interval within;

  QueryRow at(std::size_t n) const {
    return {b, first + n, static_cast<std::int64_t>(first + n) + start, within};
  }
};

inline QueryRows rows_of(const Tile& tile, std::int64_t start) {
  return {tile.b,
          tile.first_query,
          tile.queries,
          start,
          {static_cast<std::int64_t>(tile.first_key),
           static_cast<std::int64_t>(tile.first_key + tile.keys)}};
}

// ---- Rules of intervals ----

template <class Rule>
concept SaysWhatRepeats = requires(const Rule& rule, const QueryRow& query) {
  { rule.same_as_previous(query) } -> std::same_as<bool>;
};
template <class Rule>
concept SaysThatItMovesOn = Rule::kMovesOn;

template <OneIntervalRule Rule>
std::array<Interval, 1> intervals(const Rule& rule, const QueryRow& query) {
  return {rule.keys(query)};
}
template <TwoIntervalRule Rule>
std::array<Interval, 2> intervals(const Rule& rule, const QueryRow& query) {
  return rule.keys(query);
}

template <class Rule>
bool is_same_for_all_queries(const Rule& rule) {
  return !rule.varies(false)[2];
}

// One of a rule's intervals, over several queries.
struct Seen {
  Interval by_some;   // no query sees a key outside it
  Interval by_every;  // every query sees the keys in it
};

template <IntervalRule Rule>
auto seen_by(const Rule& rule, const QueryRows& rows) {
  const auto first = intervals(rule, rows.at(0));
  std::array<Seen, first.size()> all;
  for (std::size_t part = 0; part < all.size(); ++part) {
    all[part] = {first[part], first[part]};
  }
  // Of intervals that move on, the first and the last say all.
  const bool ends_suffice =
      SaysThatItMovesOn<Rule> || is_same_for_all_queries(rule);
  for (std::size_t n = ends_suffice ? std::max<std::size_t>(rows.count, 2) - 1
                                    : 1;
       n < rows.count; ++n) {
    const auto keys = intervals(rule, rows.at(n));
    for (std::size_t part = 0; part < all.size(); ++part) {
      auto& [by_some, by_every] = all[part];
      by_some = {std::min(by_some.begin, keys[part].begin),
                 std::max(by_some.end, keys[part].end)};
      by_every = {std::max(by_every.begin, keys[part].begin),
                  std::min(by_every.end, keys[part].end)};
    }
  }
  return all;
}

template <IntervalRule Rule>
TileKind classify(const Rule& rule, const Tile& tile, std::int64_t start) {
  const QueryRows rows = rows_of(tile, start);
  const Interval keys = rows.within;
  const auto all = seen_by(rule, rows);
  return tile_kind(std::ranges::any_of(all,
                                       [&](const Seen& seen) {
                                         return seen.by_every.begin <=
                                                    keys.begin &&
                                                seen.by_every.end >= keys.end;
                                       }),
                   std::ranges::all_of(all, [&](const Seen& seen) {
                     return std::max(seen.by_some.begin, keys.begin) >=
                            std::min(seen.by_some.end, keys.end);
                   }));
}

// Whether query n sees the same keys as query n - 1.
template <IntervalRule Rule>
bool repeats(const Rule& rule, const QueryRows& rows, std::size_t n) {
  if constexpr (SaysWhatRepeats<Rule>) {
    return rule.same_as_previous(rows.at(n));
  } else {
    return is_same_for_all_queries(rule);
  }
}

template <IntervalRule Rule>
void restrict_words(const Rule& rule, const Tile& tile, std::int64_t start,
                    Words allowed) {
  const QueryRows rows = rows_of(tile, start);
  const Interval keys = rows.within;
  constexpr std::size_t kParts = OneIntervalRule<Rule> ? 1 : 2;
  // Bit n is set where an interval of query n begins and where it ends.
  std::array<std::array<std::uint64_t, kTileKeys + 1>, kParts> turns{};
  const auto turn = [&](std::size_t part, std::int64_t at,
                        std::uint64_t queries) {
    turns[part][static_cast<std::size_t>(std::clamp(at, keys.begin, keys.end) -
                                         keys.begin)] ^= queries;
  };
  std::size_t next = 0;
  for (std::size_t n = 0; n < rows.count; n = next) {
    for (next = n + 1; next < rows.count && repeats(rule, rows, next);) {
      ++next;
    }
    const std::uint64_t queries = low_bits(next) & ~low_bits(n);
    const auto seen = intervals(rule, rows.at(n));
    for (std::size_t part = 0; part < kParts; ++part) {
      turn(part, seen[part].begin, queries);
      turn(part, std::max(seen[part].begin, seen[part].end), queries);
    }
  }
  std::array<std::uint64_t, kParts> inside{};
  for (std::size_t k = 0; k < tile.keys; ++k) {
    std::uint64_t by_any = 0;
    for (std::size_t part = 0; part < kParts; ++part) {
      inside[part] ^= turns[part][k];
      by_any |= inside[part];
    }
    allowed[k] &= by_any;
  }
}

// No query of `rows` sees a key of rows.within outside the result.
template <IntervalRule Rule>
Interval visible(const Rule& rule, const QueryRows& rows) {
  const auto all = seen_by(rule, rows);
  Interval keys = all[0].by_some;
  for (const Seen& seen : all) {
    keys = {std::min(keys.begin, seen.by_some.begin),
            std::max(keys.end, seen.by_some.end)};
  }
  return keys;
}

// No query of `rows` sees a key outside of these; an interval may be empty.
template <IntervalRule Rule>
std::array<Interval, 2> seen_intervals(const Rule& rule,
                                       const QueryRows& rows) {
  std::array<Interval, 2> intervals{};
  std::ranges::transform(seen_by(rule, rows), intervals.begin(),
                         [](const Seen& seen) { return seen.by_some; });
  return intervals;
}

template <IntervalRule Rule>
bool allows(const Rule& rule, const Pair& pair) {
  const auto j = static_cast<std::int64_t>(pair.j);
  return std::ranges::any_of(
      intervals(rule, {pair.b, pair.i, pair.position, {j, j + 1}}),
      [&](const Interval& keys) { return keys.begin <= j && j < keys.end; });
}

// ---- Rules of booleans in memory ----

template <BooleansRule Rule>
TileKind classify(const Rule& rule, const Tile& tile, std::int64_t /*start*/) {
  return classify_booleans(rule.values(), tile);
}
template <BooleansRule Rule>
void restrict_words(const Rule& rule, const Tile& tile, std::int64_t /*start*/,
                    Words allowed) {
  restrict_by_booleans(rule.values(), tile, allowed);
}
template <BooleansRule Rule>
bool allows(const Rule& rule, const Pair& pair) {
  return *rule.values().at(pair.b, pair.h, pair.i, pair.j);
}

// ---- Rules of computed values ----

template <ComputedRule Rule>
TileKind classify(const Rule& /*rule*/, const Tile& /*tile*/,
                  std::int64_t /*start*/) {
  return TileKind::partial;
}
template <ComputedRule Rule>
void restrict_words(const Rule& rule, const Tile& tile, std::int64_t start,
                    Words allowed) {
  const QueryRows rows = rows_of(tile, start);
  for (std::size_t k = 0; k < tile.keys; ++k) {
    for (std::size_t n = 0; n < tile.queries; ++n) {
      const QueryRow query = rows.at(n);
      if (!rule.allows(
              {query.b, tile.h, query.i, tile.first_key + k, query.position})) {
        allowed[k] &= ~(std::uint64_t{1} << n);
      }
    }
  }
}
template <ComputedRule Rule>
bool allows(const Rule& rule, const Pair& pair) {
  return rule.allows(pair);
}

// A rule of values can hide any key.
template <class Rule>
Interval visible(const Rule& /*rule*/, const QueryRows& rows) {
  return rows.within;
}
template <class Rule>
std::array<Interval, 2> seen_intervals(const Rule& /*rule*/,
                                       const QueryRows& rows) {
  return {rows.within, {}};
}

}  // namespace headwise::internal::inline HEADWISE_ABI
