// What a head may do: the patterns that heads are searched for. Each has a
// score from 0 to 1 for one head and one text (docs/patterns.md).
//
//   previous, next, self, first, separator
//                the statistics of these names (attention/statistics.h): the
//                share of attention on that key, averaged over all queries
//   duplicate    the share on other occurrences of the query's token, averaged
//                over the queries that see one
//   induction    the share on the token that followed an earlier occurrence of
//                the query's token, averaged over the queries that have one
//   positional   the attention that depends on the distance alone, in the same
//                way in every text (heads/offset_profile.h)
//
// Source: Olsson et al. 2022, arXiv:2209.11895 (induction, "prefix matching");
// Voita et al. 2019, arXiv:1905.09418 (positional); Wang et al. 2022,
// arXiv:2211.00593 (duplicate token heads).
#pragma once

#include <cstddef>
#include <string_view>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

enum class HeadPattern {
  previous,
  next,
  self,
  first,
  separator,
  duplicate,
  positional,
  induction,
};
inline constexpr std::size_t kHeadPatterns = 8;

// "previous", ...
std::string_view name_of(HeadPattern pattern);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
