// The keys that a query sees, as far as a plan of the work needs to know: a
// band around its position p = i + query_start, the rule of causal() and
// window() in steps/mask.h.
//
//   a query sees key j when  (p - left <= j or j < keep_first) and
//                            j <= p + right
//
// Example: how many pairs of a query and a key causal attention has on the
// first 1,000 tokens.
//   KeyBand::causal().pairs({0, 1000}, {0, 1000});  // 500,500
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Consecutive tokens of a sequence.
struct TokenRange {
  std::size_t first = 0;
  std::size_t tokens = 0;

  std::size_t end() const { return first + tokens; }
  bool operator==(const TokenRange&) const = default;
};

struct KeyBand {
  // The most tokens of a sequence, keys of a side and distance of query 0 from
  // key 0.
  static constexpr std::int64_t kMost = std::int64_t{1} << 48;

  // Keys before and after the position; no value: all keys on that side.
  std::optional<std::int64_t> left{};
  std::optional<std::int64_t> right{};
  std::int64_t keep_first = 0;

  static KeyBand causal() { return {.right = 0}; }

  // Errors: out_of_range for a number below 0 or above kMost; `operation` is
  // the function that the message begins with.
  Status check(std::string_view operation) const;

  // The number of pairs (i, j) in which query i sees key j. For a band that
  // check() accepts, ranges that end at kMost or before and have at most 2^63
  // pairs in all, and |query_start| <= kMost.
  std::uint64_t pairs(const TokenRange& queries, const TokenRange& keys,
                      std::int64_t query_start = 0) const;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
