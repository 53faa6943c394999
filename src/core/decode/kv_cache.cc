#include "headwise/decode/kv_cache.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "decode/cache_state.h"
#include "headwise/base/checked_product.h"
#include "headwise/kernels/targets.h"
#include "kernels/narrow.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kKvCache = "kv_cache";
// Of a contiguous cache.
constexpr std::size_t kContiguousPage = 128;

Status check_page_size(std::size_t size) {
  const bool known =
      size == 0 || size == 16 || size == 32 || size % kernels::kPanelKeys == 0;
  return known ? ok()
               : Status(value_error(kKvCache, "page_size", std::to_string(size),
                                    "16, 32, a multiple of 64, or 0 for a "
                                    "contiguous cache"));
}

Status check_dtype(DType dtype) {
  switch (dtype) {
    case DType::float32:
    case DType::bfloat16:
    case DType::float16:
    case DType::int8:
      return ok();
    default:
      return value_error(kKvCache, "dtype", name_of(dtype),
                         "float32, bfloat16, float16 or int8");
  }
}

Status check_window(const std::optional<RollingWindow>& window) {
  if (!window) {
    return ok();
  }
  for (const auto& [argument, keys] :
       {std::pair("window.left", window->left),
        std::pair("window.keep_first", window->keep_first)}) {
    if (keys < 0) {
      return value_error(kKvCache, argument, std::to_string(keys),
                         "a whole number, 0 or greater",
                         ErrorCode::out_of_range);
    }
  }
  return ok();
}

// `options` has v_head_dim filled in.
Status check_cache_options(const KvCacheOptions& options) {
  for (const auto& [argument, size] :
       {std::pair("num_kv_heads", options.num_kv_heads),
        std::pair("head_dim", options.head_dim),
        std::pair("max_tokens", options.max_tokens),
        std::pair("max_sequences", options.max_sequences)}) {
    HEADWISE_TRY(check_at_least_one(kKvCache, argument, size));
  }
  if (options.value_is_key_prefix && options.v_head_dim > options.head_dim) {
    return value_error(kKvCache, "v_head_dim",
                       std::to_string(options.v_head_dim),
                       message("at most head_dim = {}", options.head_dim));
  }
  HEADWISE_TRY(check_dtype(options.dtype));
  HEADWISE_TRY(check_page_size(options.page_size));
  return check_window(options.window);
}

// The pages of the cache. Errors: out_of_memory for more than can be numbered.
Result<SequencePages::Sizes> sizes_of(const KvCacheOptions& options) {
  const bool contiguous = options.page_size == 0;
  const std::size_t page = contiguous ? kContiguousPage : options.page_size;
  const std::size_t tokens =
      contiguous
          ? std::max<std::size_t>(options.max_tokens / options.max_sequences, 1)
          : options.max_tokens;
  const std::size_t pages = tokens / page + (tokens % page != 0 ? 1 : 0);
  const std::size_t regions = contiguous ? options.max_sequences : 1;
  constexpr std::size_t kMost = std::numeric_limits<PageNumber>::max();
  // The numbers of a cell, and the entries of all tables of pages.
  const auto numbers = checked_product(std::array<std::size_t, 3>{
      page, options.head_dim + options.v_head_dim, 2 * sizeof(float)});
  const auto entries =
      checked_product(std::array<std::size_t, 2>{pages, options.max_sequences});
  if (!numbers || !entries || *entries > kMost || options.head_dim > kMost ||
      options.v_head_dim > kMost) {
    return Error::no_memory_for(~std::uint64_t{0});
  }
  return SequencePages::Sizes{page, options.max_sequences, regions, pages,
                              options.window};
}

}  // namespace

Result<KvCache> KvCache::create(const KvCacheOptions& wanted) try {
  HEADWISE_TRY(check_target());
  KvCacheOptions options = wanted;
  if (options.v_head_dim == 0) {
    options.v_head_dim = options.head_dim;
  }
  HEADWISE_TRY(check_cache_options(options));
  HEADWISE_TRY(kernels::check_narrow(options.dtype != DType::float32));
  HEADWISE_ASSIGN(const auto sizes, sizes_of(options));
  SequencePages sequences(sizes);
  HEADWISE_ASSIGN(auto cells,
                  Cells::create(options, sequences.pool(), sizes.page_size,
                                options.page_size == 0));
  HEADWISE_ASSIGN(auto received,
                  ReceivedSums::create(options.received_heads, sequences));
  return KvCache(std::make_unique<CacheState>(
      options, std::move(sequences), std::move(cells), std::move(received)));
} catch (...) {
  return caught_out_of_memory();
}

const KvCacheOptions& KvCache::options() const { return state_->options; }

std::size_t KvCache::sequences() const { return state_->sequences.count(); }
std::size_t KvCache::pages() const { return state_->sequences.pool().pages(); }
std::size_t KvCache::free_pages() const {
  return state_->sequences.pool().free_pages();
}
std::size_t KvCache::bytes() const { return state_->cells.bytes(); }

namespace {

Error no_free_sequence(const KvCacheOptions& options) {
  return value_error(kKvCache, "max_sequences",
                     std::to_string(options.max_sequences),
                     "more: the cache has this number of sequences already",
                     ErrorCode::out_of_range);
}

}  // namespace

Result<SequenceId> KvCache::add() try {
  const auto id = state_->sequences.add();
  return id ? Result<SequenceId>(*id) : no_free_sequence(state_->options);
} catch (...) {
  return caught_out_of_memory();
}

Status KvCache::append(std::span<const SequenceId> ids, const TensorArg& key,
                       const TensorArg& value,
                       TensorView<const std::int64_t, 1> offsets) try {
  const NewTokens tokens = {ids, key, value, offsets};
  HEADWISE_TRY(state_->check(tokens, kKvCache));
  state_->append(tokens, Executor::default_executor());
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Status KvCache::truncate(SequenceId id, std::size_t length) try {
  SequencePages& sequences = state_->sequences;
  if (!sequences.exists(id)) {
    return unknown_sequence(kKvCache, "id");
  }
  if (state_->received.collected()) {
    return value_error(kKvCache, "received_heads",
                       std::to_string(state_->received.heads()),
                       "0 with truncate(): attention that was received cannot "
                       "be taken back",
                       ErrorCode::unsupported);
  }
  const std::size_t longest = sequences.length(id.slot);
  if (length > longest) {
    return value_error(kKvCache, "length", std::to_string(length),
                       message("at most the sequence's {}", longest),
                       ErrorCode::out_of_range);
  }
  const SequencePages::Lengths allowed = sequences.truncated_lengths(id.slot);
  if (!allowed.allow(length)) {
    return value_error(kKvCache, "length", std::to_string(length),
                       message("at most {}, or {} or more: the window gave "
                               "back the tokens between",
                               allowed.kept, allowed.first),
                       ErrorCode::out_of_range);
  }
  sequences.truncate(id.slot, length);
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Result<SequenceId> KvCache::fork(SequenceId id) try {
  SequencePages& sequences = state_->sequences;
  if (!sequences.exists(id)) {
    return unknown_sequence(kKvCache, "id");
  }
  const auto copy = [&](PageNumber from, PageNumber to) {
    state_->cells.copy(from, to);
  };
  const auto child = sequences.fork(id.slot, copy);
  if (child) {
    state_->received.copy(sequences, id.slot, child->slot);
  }
  return child ? Result<SequenceId>(*child) : no_free_sequence(state_->options);
} catch (...) {
  return caught_out_of_memory();
}

Status KvCache::keep(SequenceId id,
                     TensorView<const std::int64_t, 1> indices) try {
  HEADWISE_TRY(state_->check_kept(id, indices));
  state_->keep(id.slot, indices);
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Status KvCache::erase(SequenceId id) try {
  if (!state_->sequences.exists(id)) {
    return unknown_sequence(kKvCache, "id");
  }
  state_->sequences.erase(id.slot);
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Result<std::size_t> KvCache::length(SequenceId id) const try {
  if (!state_->sequences.exists(id)) {
    return unknown_sequence(kKvCache, "id");
  }
  return state_->sequences.length(id.slot);
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
