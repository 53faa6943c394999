#include "distribute/context_sequences.h"

#include <algorithm>
#include <string>

#include "base/check.h"

namespace headwise::inline HEADWISE_ABI {

Result<SequenceId> ContextSequences::add() {
  std::size_t slot = 0;
  while (slot < slots_.size() && slots_[slot].exists) {
    ++slot;
  }
  if (slot == most_) {
    return value_error("context_cache", "max_sequences", std::to_string(most_),
                       "more: the cache has this number of sequences already",
                       ErrorCode::out_of_range);
  }
  if (slot == slots_.size()) {
    slots_.emplace_back();
  }
  ContextSequence& sequence = slots_[slot];
  sequence = {.exists = true,
              .generation = sequence.generation + 1,
              .first_rank = added_++ % ranks_};
  return SequenceId{static_cast<std::uint32_t>(slot), sequence.generation};
}

Status ContextSequences::check(SequenceId id, std::string_view operation,
                               std::string_view argument) const {
  if (id.slot < slots_.size() && slots_[id.slot].exists &&
      slots_[id.slot].generation == id.generation) {
    return ok();
  }
  return argument_error(operation, argument, "is not in the cache",
                        "a sequence of this cache that was not erased",
                        ErrorCode::out_of_range);
}

PartRange ContextSequences::common(const PartRange& a, const PartRange& b) {
  const std::size_t first = std::max(a.first, b.first);
  const std::size_t end = std::min(a.first + a.count, b.first + b.count);
  return {first, end > first ? end - first : 0};
}

PartRange ContextSequences::tokens_of(std::size_t share,
                                      std::size_t length) const {
  return common({share * share_tokens_, share_tokens_}, {0, length});
}

std::size_t ContextSequences::tokens_on(std::size_t rank) const {
  std::size_t tokens = 0;
  for (const ContextSequence& sequence : slots_) {
    const std::size_t shares = sequence.exists ? shares_of(sequence.length) : 0;
    for (std::size_t share = 0; share < shares; ++share) {
      tokens += rank_of(sequence, share) == rank
                    ? tokens_of(share, sequence.length).count
                    : 0;
    }
  }
  return tokens;
}

}  // namespace headwise::inline HEADWISE_ABI
