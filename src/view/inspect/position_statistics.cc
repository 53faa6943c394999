#include "inspect/position_statistics.h"

#include <cstdint>
#include <limits>

#include "headwise/inspect/weights_statistics.h"

namespace headwise::inline HEADWISE_ABI {

bool may_attend_to_next(const AttentionSpec& spec, std::size_t b,
                        std::size_t h) {
  const auto keys = static_cast<std::int64_t>(spec.shape.sequence(b).Lkv);
  const std::int64_t start = spec.mask.query_start(b);
  for (std::size_t i = 0; i < spec.statistics.queries(b); ++i) {
    const std::int64_t next = static_cast<std::int64_t>(i) + start + 1;
    if (next >= 0 && next < keys &&
        spec.mask.may_attend(b, h, i, static_cast<std::size_t>(next))) {
      return true;
    }
  }
  return false;
}

bool has_separator(const AttentionSpec& spec, std::size_t b) {
  for (std::size_t j = 0; j < spec.shape.sequence(b).Lkv; ++j) {
    if (spec.statistics.separator(b, j)) {
      return true;
    }
  }
  return false;
}

void leave_out_unknown(const AttentionSpec& spec, PooledStatistics& pooled) {
  constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
  // A batch without elements may be of any size.
  const bool empty = spec.shape.Lq == 0 || spec.shape.Lkv == 0;
  const std::size_t sequences = empty ? 0 : spec.shape.B;
  bool separator = false;
  for (std::size_t b = 0; b < sequences && !separator; ++b) {
    separator = has_separator(spec, b);
  }
  for (std::size_t h = 0; h < spec.shape.Hq; ++h) {
    bool next = false;
    for (std::size_t b = 0; b < sequences && !next; ++b) {
      next = may_attend_to_next(spec, b, h);
    }
    if (!next) {
      pooled.means(h, index_of(Statistic::next)) = kUnknown;
    }
    if (!separator) {
      pooled.means(h, index_of(Statistic::separator)) = kUnknown;
    }
  }
}

}  // namespace headwise::inline HEADWISE_ABI
