// Keeping some tokens of a sequence: the others are evicted, and those that
// stay move towards the beginning, in order and as they are stored.
#include <algorithm>
#include <string>

#include "base/check.h"
#include "decode/cache_state.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kKeptTokens = "kv_cache";

using Indices = TensorView<const std::int64_t, 1>;

// How many of the first tokens stay where they are.
std::size_t unmoved(const Indices& indices) {
  std::size_t n = 0;
  while (n < indices.extent(0) && indices(n) == static_cast<std::int64_t>(n)) {
    ++n;
  }
  return n;
}

Status check_indices(const Indices& indices, std::size_t length) {
  std::int64_t least = 0;
  for (std::size_t n = 0; n < indices.extent(0); ++n) {
    const std::int64_t index = indices(n);
    const auto error = [&](const Message& expected, ErrorCode code) {
      return value_error(kKeptTokens, "indices[" + std::to_string(n) + "]",
                         std::to_string(index), expected, code);
    };
    if (index < 0 || static_cast<std::uint64_t>(index) >= length) {
      return error(message("a token below the length, {}", length),
                   ErrorCode::out_of_range);
    }
    if (index < least) {
      return error(message("more than {} (ascending numbers)", least - 1),
                   ErrorCode::invalid_argument);
    }
    least = index + 1;
  }
  return ok();
}

}  // namespace

Status CacheState::check_kept(SequenceId id, Indices indices) const {
  if (!sequences.exists(id)) {
    return unknown_sequence(kKeptTokens, "id");
  }
  if (options.window) {
    return value_error(kKeptTokens, "window", "given",
                       "none with keep(): a rolling window chooses the tokens",
                       ErrorCode::unsupported);
  }
  HEADWISE_TRY(check_indices(indices, sequences.length(id.slot)));
  const std::size_t first = unmoved(indices);
  const std::size_t needed =
      first == indices.extent(0)
          ? 0
          : sequences.shared_pages(id.slot, first, indices.extent(0));
  const std::size_t free = sequences.pool().free_pages();
  return needed <= free
             ? ok()
             : Status(argument_error(
                   kKeptTokens, "indices", message("needs {} pages", needed),
                   message("at most the {} free pages of the cache", free),
                   ErrorCode::out_of_range));
}

void CacheState::keep(std::uint32_t slot, Indices indices) {
  const std::size_t count = indices.extent(0);
  const std::size_t page_size = sequences.page_size();
  const auto copy = [&](PageNumber from, PageNumber to) {
    cells.copy(from, to);
  };
  const std::size_t first = unmoved(indices);
  if (first < count) {
    sequences.unshare(slot, first, count, copy);
  }
  const auto source = [&](std::size_t n) {
    return static_cast<std::size_t>(indices(n));
  };
  for (std::size_t n = first; n < count;) {
    const std::size_t from = source(n);
    const std::size_t most = std::min(
        {count - n, page_size - n % page_size, page_size - from % page_size});
    std::size_t some = 1;
    while (some < most && source(n + some) == from + some) {
      ++some;
    }
    cells.move({sequences.page_of(slot, from), from % page_size},
               {sequences.page_of(slot, n), n % page_size}, some);
    for (std::size_t k = 0; k < some; ++k) {
      received.move(sequences, slot, from + k, n + k);
    }
    n += some;
  }
  sequences.truncate(slot, count);
}

}  // namespace headwise::inline HEADWISE_ABI
