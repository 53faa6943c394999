// What one rule of a mask declares. Everything else that is asked of a mask,
// such as tiles, their words and the range of visible keys, is derived from it
// (rule_tile.h, stored_rule.h). The rules are in mask_rules.cc.
//
// A rule is a struct that can be copied as bytes. It declares
//
// - which keys a query may attend to, in one of these forms:
//
//     Interval keys(const QueryRow& query) const;
//     std::array<Interval, 2> keys(const QueryRow& query) const;  // in either
//     Booleans values() const;               // booleans in memory
//     bool allows(const Pair& pair) const;   // computed for each pair
//
//   Intervals let whole tiles be skipped. Computed values are the slowest and
//   are not available on the GPU, nor are two intervals;
//
// - its check against the sizes of a call:
//
//     Status check(const MaskCall& call) const;
//
// - how it becomes the rule of a part of its call. Query positions in the part
//   are still relative to the part's first key, so a rule of positions alone
//   stays as it is. Numbers that are new go into `numbers`:
//
//     void cut_to(const CallPart& part, PartNumbers& numbers);
//
// - how it is shown: its words, and over which axes of the scores (B, H, Lq,
//   Lkv) it varies; a query start may differ from one sequence to the next:
//
//     static constexpr MaskWords kWords = {...};
//     std::array<bool, 4> varies(bool starts_differ) const;
//
// Where it saves time, a rule of intervals also declares
//
//     static constexpr bool kMovesOn = true;  // from one query to the next, no
//                                             // end of an interval moves back
//     bool same_as_previous(const QueryRow& query) const;  // the same keys as
//                                                          // query i - 1
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

#include "headwise/base/result.h"
#include "headwise/steps/mask.h"
#include "headwise/steps/shape.h"
#include "steps/call_part.h"
#include "steps/mask_words.h"

namespace headwise::internal::inline HEADWISE_ABI {

// The keys [begin, end). It may reach beyond the keys of the call, and is empty
// where begin >= end.
struct Interval {
  std::int64_t begin;
  std::int64_t end;
};
inline constexpr std::int64_t kBeforeAllKeys =
    std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kBeyondAllKeys =
    std::numeric_limits<std::int64_t>::max();

// Query i of sequence b, at `position` = i + query_start, which is within 2^62
// and a few queries. Only the keys `within` matter; they are keys of the call.
struct QueryRow {
  std::size_t b;
  std::size_t i;
  std::int64_t position;
  Interval within;
};

// One query-key pair.
struct Pair {
  std::size_t b;
  std::size_t h;
  std::size_t i;
  std::size_t j;
  std::int64_t position;  // of the query
};

// Booleans in memory, true = may attend: that of a pair is at
// b * strides[0] + h * strides[1] + i * strides[2] + j * strides[3].
struct Booleans {
  const bool* data;
  std::array<std::ptrdiff_t, 4> strides;

  const bool* at(std::size_t b, std::size_t h, std::size_t i,
                 std::size_t j) const {
    return data + static_cast<std::ptrdiff_t>(b) * strides[0] +
           static_cast<std::ptrdiff_t>(h) * strides[1] +
           static_cast<std::ptrdiff_t>(i) * strides[2] +
           static_cast<std::ptrdiff_t>(j) * strides[3];
  }
};

// The call that a rule is checked against. `operation` begins the messages.
struct MaskCall {
  std::string_view operation;
  const AttentionShape& shape;
};

// ---- The forms of a rule ----

template <class Rule>
concept OneIntervalRule = requires(const Rule& rule, const QueryRow& query) {
  { rule.keys(query) } -> std::same_as<Interval>;
};
template <class Rule>
concept TwoIntervalRule = requires(const Rule& rule, const QueryRow& query) {
  { rule.keys(query) } -> std::same_as<std::array<Interval, 2>>;
};
template <class Rule>
concept IntervalRule = OneIntervalRule<Rule> || TwoIntervalRule<Rule>;
template <class Rule>
concept BooleansRule = requires(const Rule& rule) {
  { rule.values() } -> std::same_as<Booleans>;
};
template <class Rule>
concept ComputedRule = requires(const Rule& rule, const Pair& pair) {
  { rule.allows(pair) } -> std::same_as<bool>;
};

// ---- A complete rule ----

template <class Rule>
concept HasOneForm = int{IntervalRule<Rule>} + int{BooleansRule<Rule>} +
                         int{ComputedRule<Rule>} ==
                     1;
template <class Rule>
concept HasCheck = requires(const Rule& rule, const MaskCall& call) {
  { rule.check(call) } -> std::same_as<Status>;
};
template <class Rule>
concept HasPart = requires(Rule& rule, const CallPart& part,
                           PartNumbers& numbers) {
  { rule.cut_to(part, numbers) } -> std::same_as<void>;
};
template <class Rule>
concept HasAxes = requires(const Rule& rule, bool starts_differ) {
  { rule.varies(starts_differ) } -> std::same_as<std::array<bool, 4>>;
};
template <class Rule>
concept HasWords = requires {
  requires Rule::kWords.complete();
};
template <class Rule>
inline constexpr bool kIsStorable = std::is_trivially_copyable_v<Rule> &&
                                    sizeof(Rule) <= kMaskRuleBytes &&
                                    alignof(Rule) <= kMaskRuleAlignment;

// Version 14 breaks a line within && of concepts.
// clang-format off
template <class Rule>
concept MaskRule = kIsStorable<Rule> && HasOneForm<Rule> && HasCheck<Rule> &&
                   HasPart<Rule> && HasAxes<Rule> && HasWords<Rule>;
// clang-format on

}  // namespace headwise::internal::inline HEADWISE_ABI
