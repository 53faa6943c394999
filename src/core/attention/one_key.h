// The statistics that are the share of one key in a row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "headwise/attention/spec.h"
#include "headwise/attention/statistics_options.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// The first of them is Statistic::first.
inline constexpr std::size_t kOneKeys =
    index_of(Statistic::separator) - index_of(Statistic::first);

// The keys of all of them, in their order: of a query at this position of
// sequence b. There need not be such a key.
inline std::array<std::int64_t, kOneKeys> one_keys(const BoundMask& mask,
                                                   std::size_t b,
                                                   std::int64_t position) {
  return {static_cast<std::int64_t>(mask.first_key(b)), position - 1, position,
          position + 1};
}

}  // namespace headwise::inline HEADWISE_ABI
