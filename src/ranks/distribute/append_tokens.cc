#include "distribute/append_tokens.h"

#include <string>

#include "base/check.h"
#include "headwise/base/half.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Calls body(sequence, share, rows) for each share that gets some of the tokens
// of sequence n of the step, and for the rows of the step that it gets.
template <class T, class Body>
Status for_new_tokens(const ContextSequences& sequences,
                      const ContextStep<T>& step, std::size_t n,
                      const Body& body) {
  const std::size_t before = sequences[step.ids[n]].length;
  const std::size_t after = before + step.count(n);
  std::size_t share = sequences.shares_of(before + 1) - 1;
  for (; before != after && share < sequences.shares_of(after); ++share) {
    const PartRange added = ContextSequences::common(
        sequences.tokens_of(share, after), {before, after - before});
    HEADWISE_TRY(body(share, PartRange{added.first - before, added.count}));
  }
  return ok();
}

}  // namespace

template <class T>
Status check_room(const ContextCacheState& state, const ContextStep<T>& step) {
  const ContextSequences& sequences = state.sequences;
  const std::size_t page = state.options.rank.page_size;
  std::size_t needed = 0;
  for (std::size_t n = 0; n < step.ids.size(); ++n) {
    const ContextSequence& sequence = sequences[step.ids[n]];
    const std::size_t after = sequence.length + step.count(n);
    HEADWISE_TRY(for_new_tokens(
        sequences, step, n, [&](std::size_t share, const PartRange&) {
          const auto pages = [&](std::size_t length) {
            return (sequences.tokens_of(share, length).count + page - 1) / page;
          };
          needed += sequences.rank_of(sequence, share) == state.rank
                        ? pages(after) - pages(sequence.length)
                        : 0;
          return ok();
        }));
  }
  const std::size_t free = state.cache.free_pages();
  return needed <= free
             ? ok()
             : Status(argument_error(
                   kContextCache, "key", message("needs {} pages", needed),
                   message("at most the {} free pages of the cache", free),
                   ErrorCode::out_of_range));
}

template <class T>
Status append_tokens(ContextCacheState& state, const ContextStep<T>& step) {
  ContextSequences& sequences = state.sequences;
  for (std::size_t n = 0; n < step.ids.size(); ++n) {
    ContextSequence& sequence = sequences[step.ids[n]];
    const auto append_to = [&](std::size_t share,
                               const PartRange& rows) -> Status {
      const bool is_new = share == sequence.shares.size();
      if (is_new) {
        sequence.shares.emplace_back();
      }
      if (sequences.rank_of(sequence, share) != state.rank) {
        return ok();
      }
      if (is_new) {
        HEADWISE_ASSIGN(sequence.shares[share], state.cache.add());
      }
      return state.cache.append({&sequence.shares[share], 1},
                                step.rows(step.key, n, rows),
                                step.rows(step.value, n, rows));
    };
    HEADWISE_TRY(for_new_tokens(sequences, step, n, append_to));
    sequence.length += step.count(n);
  }
  return ok();
}

template Status check_room(const ContextCacheState&, const ContextStep<float>&);
template Status append_tokens(ContextCacheState&, const ContextStep<float>&);
template Status check_room(const ContextCacheState&,
                           const ContextStep<BFloat16>&);
template Status append_tokens(ContextCacheState&, const ContextStep<BFloat16>&);
template Status check_room(const ContextCacheState&,
                           const ContextStep<Float16>&);
template Status append_tokens(ContextCacheState&, const ContextStep<Float16>&);

}  // namespace headwise::inline HEADWISE_ABI
