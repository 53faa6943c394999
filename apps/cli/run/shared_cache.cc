#include "shared_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "cached_run.h"
#include "headwise/base/checked_product.h"
#include "headwise/interop/sha256.h"
#include "shell/ranks/rank_job.h"

namespace headwise::cli {
namespace {

// Shares end where blocks of keys do.
constexpr std::size_t kKeyBlock = 128;

// Rounding up longer pages could overflow, and no machine has the memory for
// them.
constexpr std::size_t kMostPageTokens = std::size_t{1} << 40;

std::size_t rounded_up(std::size_t tokens, std::size_t unit) {
  return std::max<std::size_t>(tokens / unit + (tokens % unit != 0 ? 1 : 0),
                               1) *
         unit;
}

// With fewer sequences than ranks each sequence is divided among all of them;
// otherwise the ranks take whole sequences in turn.
std::size_t share_tokens(const AttentionShape& shape, std::size_t ranks,
                         std::size_t page_size) {
  std::size_t longest = 0;
  for (std::size_t b = 0; b < shape.B; ++b) {
    longest = std::max(longest, shape.sequence(b).Lkv);
  }
  const std::size_t unit = std::lcm(kKeyBlock, page_size);
  return shape.B < ranks
             ? rounded_up(std::min(rounded_up(longest, ranks) / ranks,
                                   ContextCacheOptions{}.share_tokens),
                          unit)
             : rounded_up(longest, unit);
}

Result<ContextCache> make_cache(const CacheFlags& flags,
                                const AttentionShape& shape,
                                const Communicator& group) {
  ContextCacheOptions options = {.rank = cache_options(flags, shape)};
  if (options.rank.page_size > kMostPageTokens) {
    return Error::no_memory_for(~std::uint64_t{0});
  }
  const std::size_t share =
      share_tokens(shape, group.ranks(), options.rank.page_size);
  options.share_tokens = share;
  std::size_t shares = 0;  // at least those of any rank
  for (std::size_t b = 0; b < shape.B; ++b) {
    const std::size_t length = shape.sequence(b).Lkv;
    shares += rounded_up(rounded_up(length, share) / share, group.ranks()) /
              group.ranks();
  }
  const auto tokens = checked_product(
      std::array<std::size_t, 2>{std::max<std::size_t>(shares, 1), share});
  if (!tokens) {
    return Error::no_memory_for(~std::uint64_t{0});
  }
  options.rank.max_tokens = *tokens;
  return ContextCache::create(options, group.ranks(), group.rank());
}

// How the call is cut into steps. A step compares its own sizes only.
std::string description(const CacheFlags& flags, const AttentionShape& shape) {
  std::string text = fmt::format(
      "B = {}, Hq = {}, Hkv = {}, Lq = {}, Lkv = {}, D = {}, Dv = {}", shape.B,
      shape.Hq, shape.Hkv, shape.Lq, shape.Lkv, shape.D, shape.Dv);
  if (flags.chunk) {
    text += fmt::format(", chunk = {}", *flags.chunk);
  }
  if (shape.offsets.ragged()) {
    std::string lengths;
    for (std::size_t b = 0; b < shape.B; ++b) {
      const SequencePlace place = shape.sequence(b);
      lengths += fmt::format("{} {}\n", place.Lq, place.Lkv);
    }
    text += fmt::format(", SHA-256(lengths) = {}", sha256_of(lengths));
  }
  return text;
}

}  // namespace

Result<SharedSequences> SharedSequences::create(Communicator& group,
                                                const CacheFlags& flags,
                                                const AttentionShape& shape) {
  HEADWISE_TRY(
      of_all_ranks(group.check_same("the call", description(flags, shape))));
  auto cache = make_cache(flags, shape, group);
  HEADWISE_TRY(agreed(group, cache));
  SharedSequences made{*std::move(cache)};
  for (std::size_t b = 0; b < shape.B; ++b) {
    HEADWISE_ASSIGN(const auto id, made.cache.add());
    made.ids.push_back(id);
  }
  return made;
}

}  // namespace headwise::cli
