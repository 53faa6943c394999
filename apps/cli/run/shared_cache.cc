#include "shared_cache.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "cached_run.h"
#include "shell/rank_job.h"

namespace headwise::cli {
namespace {

// Shares end where blocks of keys do.
constexpr std::size_t kKeyBlock = 128;

// With fewer sequences than ranks each sequence is divided among all of them;
// otherwise the ranks take whole sequences in turn.
std::size_t share_tokens(const AttentionShape& shape, std::size_t ranks,
                         std::size_t page_size) {
  std::size_t longest = 0;
  for (std::size_t b = 0; b < shape.B; ++b) {
    longest = std::max(longest, shape.sequence(b).Lkv);
  }
  const std::size_t unit = std::lcm(kKeyBlock, page_size);
  const std::size_t parts = shape.B < ranks ? ranks * unit : unit;
  const std::size_t units =
      std::max<std::size_t>((longest + parts - 1) / parts, 1);
  const std::size_t most =
      std::max<std::size_t>(ContextCacheOptions{}.share_tokens / unit, 1);
  return (shape.B < ranks ? std::min(units, most) : units) * unit;
}

Result<ContextCache> make_cache(const CacheFlags& flags,
                                const AttentionShape& shape,
                                const Communicator& group) {
  ContextCacheOptions options = {.rank = cache_options(flags, shape)};
  const std::size_t share =
      share_tokens(shape, group.ranks(), options.rank.page_size);
  options.share_tokens = share;
  std::size_t shares = 0;  // at most, on one rank
  for (std::size_t b = 0; b < shape.B; ++b) {
    const std::size_t all = (shape.sequence(b).Lkv + share - 1) / share;
    shares += (all + group.ranks() - 1) / group.ranks();
  }
  options.rank.max_tokens = std::max<std::size_t>(shares, 1) * share;
  return ContextCache::create(options, group.ranks(), group.rank());
}

}  // namespace

Result<SharedSequences> SharedSequences::create(Communicator& group,
                                                const CacheFlags& flags,
                                                const AttentionShape& shape) {
  auto cache = make_cache(flags, shape, group);
  HEADWISE_TRY(agreed(group, cache ? ok() : Status(cache.error())));
  SharedSequences made{*std::move(cache)};
  for (std::size_t b = 0; b < shape.B; ++b) {
    const auto id = made.cache.add();
    HEADWISE_TRY(id);
    made.ids.push_back(*id);
  }
  return made;
}

}  // namespace headwise::cli
