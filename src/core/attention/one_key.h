// The statistics that are the share of one key in a row: `first` and those with
// an offset, which are between it and `separator`.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "headwise/attention/spec.h"
#include "headwise/attention/statistics_options.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

inline constexpr std::size_t kOneKeys =
    index_of(Statistic::separator) - index_of(Statistic::first);

static_assert(std::all_of(kStatisticRows + index_of(Statistic::first) + 1,
                          kStatisticRows + index_of(Statistic::separator),
                          [](const StatisticRow& row) {
                            return row.offset.has_value();
                          }));

// The keys of all of them, in their order: of a query at this position of
// sequence b. There need not be such a key.
inline std::array<std::int64_t, kOneKeys> one_keys(const BoundMask& mask,
                                                   std::size_t b,
                                                   std::int64_t position) {
  std::array<std::int64_t, kOneKeys> keys = {
      static_cast<std::int64_t>(mask.first_key(b))};
  for (std::size_t k = 1; k < kOneKeys; ++k) {
    keys[k] = position + *kStatisticRows[index_of(Statistic::first) + k].offset;
  }
  return keys;
}

}  // namespace headwise::inline HEADWISE_ABI
