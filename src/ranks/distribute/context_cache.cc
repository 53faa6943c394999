#include "headwise/distribute/context_cache.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "distribute/context_step.h"
#include "distribute/one_type.h"
#include "distribute/or_abort.h"
#include "distribute/rank_tensors.h"
#include "kernels/attention_tile.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Status check_stored(const KvCacheOptions& options) {
  for (const auto& [argument, given] :
       {std::pair("rank.window", options.window.has_value()),
        std::pair("rank.received_heads", options.received_heads != 0),
        std::pair("rank.value_is_key_prefix", options.value_is_key_prefix)}) {
    if (given) {
      return value_error(kContextCache, argument, "given",
                         "none in a cache of several ranks",
                         ErrorCode::unsupported);
    }
  }
  return options.page_size != 0
             ? ok()
             : Status(value_error(kContextCache, "rank.page_size", "0",
                                  "a size of pages", ErrorCode::unsupported));
}

Status check_cache_options(const ContextCacheOptions& options,
                           std::size_t ranks, std::size_t rank) {
  HEADWISE_TRY(check_rank_numbers(kContextCache, ranks, rank));
  HEADWISE_TRY(check_stored(options.rank));
  const std::size_t share = options.share_tokens;
  if (share == 0 || share % kernels::kKeyBlock != 0 ||
      share % options.rank.page_size != 0) {
    return value_error(kContextCache, "share_tokens", std::to_string(share),
                       message("a multiple of {} and of the page size, {}",
                               kernels::kKeyBlock, options.rank.page_size));
  }
  return ok();
}

// A share is a sequence of the rank's cache. All but the last of each sequence
// are full.
KvCacheOptions stored_options(const ContextCacheOptions& options) {
  KvCacheOptions stored = options.rank;
  // At the largest number KvCache finds that memory has run out.
  const std::size_t left =
      std::numeric_limits<std::size_t>::max() - stored.max_sequences;
  stored.max_sequences +=
      std::min(options.rank.max_tokens / options.share_tokens + 1, left);
  return stored;
}

}  // namespace

Result<ContextCache> ContextCache::create(const ContextCacheOptions& options,
                                          std::size_t ranks,
                                          std::size_t rank) try {
  HEADWISE_TRY(check_at_least_one(kContextCache, "rank.max_sequences",
                                  options.rank.max_sequences));
  HEADWISE_TRY(check_cache_options(options, ranks, rank));
  HEADWISE_ASSIGN(auto cache, KvCache::create(stored_options(options)));
  ContextCacheOptions filled = options;
  filled.rank.v_head_dim = cache.options().v_head_dim;
  return ContextCache(std::make_unique<ContextCacheState>(ContextCacheState{
      filled, ranks, rank,
      ContextSequences(ranks, options.share_tokens, options.rank.max_sequences),
      std::move(cache)}));
} catch (...) {
  return caught_out_of_memory();
}

Result<SequenceId> ContextCache::add() try {
  return state_->sequences.add();
} catch (...) {
  return caught_out_of_memory();
}

Status ContextCache::truncate(SequenceId id, std::size_t length) try {
  ContextSequences& sequences = state_->sequences;
  HEADWISE_TRY(sequences.check(id, kContextCache, "id"));
  ContextSequence& sequence = sequences[id];
  if (length > sequence.length) {
    return value_error(kContextCache, "length", std::to_string(length),
                       message("at most the sequence's {}", sequence.length),
                       ErrorCode::out_of_range);
  }
  const std::size_t kept = sequences.shares_of(length);
  for (std::size_t share = length / state_->options.share_tokens;
       share < sequence.shares.size(); ++share) {
    if (sequences.rank_of(sequence, share) != state_->rank) {
      continue;
    }
    HEADWISE_TRY(share < kept ? state_->cache.truncate(
                                    sequence.shares[share],
                                    sequences.tokens_of(share, length).count)
                              : state_->cache.erase(sequence.shares[share]));
  }
  sequence.shares.resize(kept);
  sequence.length = length;
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Status ContextCache::erase(SequenceId id) {
  HEADWISE_TRY(truncate(id, 0));
  state_->sequences[id].exists = false;
  return ok();
}

Result<std::size_t> ContextCache::length(SequenceId id) const try {
  HEADWISE_TRY(state_->sequences.check(id, kContextCache, "id"));
  return std::as_const(state_->sequences)[id].length;
} catch (...) {
  return caught_out_of_memory();
}

std::size_t ContextCache::own_tokens() const {
  return state_->sequences.tokens_on(state_->rank);
}

Status ContextCache::step(Communicator& group, std::span<const SequenceId> ids,
                          const TensorArg& query, const TensorArg& key,
                          const TensorArg& value, const TensorArg& output,
                          const AttentionOptions& options,
                          const OperationOptions& operation_options,
                          TensorView<const std::int64_t, 1> offsets) {
  const auto step_of = [&]<class T>(T) -> Status {
    return run_step<T>(group, *state_,
                       {ids, query.view<const T, 4>(), key.view<const T, 4>(),
                        value.view<const T, 4>(), output.view<T, 4>(), options,
                        operation_options, offsets});
  };
  return or_abort(group, [&] {
    return for_one_type(
        kContextCache,
        {{"query", query}, {"key", key}, {"value", value}, {"output", output}},
        step_of);
  });
}

}  // namespace headwise::inline HEADWISE_ABI
