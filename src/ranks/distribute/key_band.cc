#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/distribute/shard_plan.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// The number of pairs with j <= i + shift.
std::uint64_t pairs_up_to(std::int64_t shift, const TokenRange& queries,
                          const TokenRange& keys) {
  const auto begin = static_cast<std::int64_t>(queries.first);
  const auto end = static_cast<std::int64_t>(queries.end());
  const auto first_key = static_cast<std::int64_t>(keys.first);
  const auto all_keys = static_cast<std::int64_t>(keys.tokens);
  // Query i sees i - before of the keys, at least none and at most all.
  const std::int64_t before = first_key - shift - 1;
  const std::int64_t some = std::clamp(before + 1, begin, end);
  const std::int64_t all = std::clamp(before + all_keys, begin, end);
  const auto rows = static_cast<std::uint64_t>(all - some);
  const auto rising =
      rows == 0
          ? 0
          : rows * static_cast<std::uint64_t>(some + all - 1 - 2 * before);
  return rising / 2 + static_cast<std::uint64_t>(end - all) * keys.tokens;
}

Status check_band_number(std::string_view operation, std::string_view argument,
                         std::int64_t number) {
  return number >= 0 && number <= KeyBand::kMost
             ? ok()
             : Status(
                   value_error(operation, argument, std::to_string(number),
                               message("a number from 0 to {}", KeyBand::kMost),
                               ErrorCode::out_of_range));
}

}  // namespace

Status KeyBand::check(std::string_view operation) const try {
  HEADWISE_TRY(check_band_number(operation, "band.left", left.value_or(0)));
  HEADWISE_TRY(check_band_number(operation, "band.right", right.value_or(0)));
  return check_band_number(operation, "band.keep_first", keep_first);
} catch (...) {
  return caught_out_of_memory();
}

std::uint64_t KeyBand::pairs(const TokenRange& queries, const TokenRange& keys,
                             std::int64_t query_start) const {
  if (queries.tokens == 0 || keys.tokens == 0) {
    return 0;
  }
  const std::uint64_t not_after =
      right ? pairs_up_to(query_start + *right, queries, keys)
            : std::uint64_t{queries.tokens} * keys.tokens;
  if (!left) {
    return not_after;
  }
  // Keys before the band, of which the first are kept.
  const std::int64_t before_band = query_start - *left - 1;
  const std::size_t kept_end =
      std::clamp(static_cast<std::size_t>(keep_first), keys.first, keys.end());
  const TokenRange not_kept = {kept_end, keys.end() - kept_end};
  return not_after - pairs_up_to(before_band, queries, not_kept);
}

}  // namespace headwise::inline HEADWISE_ABI
