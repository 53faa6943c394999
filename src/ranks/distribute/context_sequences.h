// Where the tokens of the sequences of a ContextCache are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/decode/kv_cache.h"
#include "steps/call_part.h"

namespace headwise::inline HEADWISE_ABI {

// A sequence, cut into shares of the same number of tokens.
struct ContextSequence {
  bool exists = false;
  std::uint32_t generation = 0;
  std::size_t length = 0;
  std::size_t first_rank = 0;
  // Of each share, the sequence of the cache on the rank that has it; what the
  // other ranks have there means nothing.
  std::vector<SequenceId> shares{};
};

// The same on every rank, but for ContextSequence::shares.
class ContextSequences {
 public:
  ContextSequences(std::size_t ranks, std::size_t share_tokens,
                   std::size_t most)
      : ranks_(ranks), share_tokens_(share_tokens), most_(most) {}

  // Errors: those of ContextCache.
  Result<SequenceId> add();
  Status check(SequenceId id, std::string_view operation,
               std::string_view argument) const;

  ContextSequence& operator[](SequenceId id) { return slots_[id.slot]; }
  const ContextSequence& operator[](SequenceId id) const {
    return slots_[id.slot];
  }

  std::size_t rank_of(const ContextSequence& sequence,
                      std::size_t share) const {
    return (sequence.first_rank + share) % ranks_;
  }
  // The shares that the first `tokens` tokens take.
  std::size_t shares_of(std::size_t tokens) const {
    return tokens / share_tokens_ + (tokens % share_tokens_ != 0 ? 1 : 0);
  }
  // The tokens of a share, of a sequence of this length.
  PartRange tokens_of(std::size_t share, std::size_t length) const;
  // Those of the tokens in a share.
  static PartRange common(const PartRange& a, const PartRange& b);
  // The tokens of all sequences on a rank.
  std::size_t tokens_on(std::size_t rank) const;

 private:
  std::size_t ranks_;
  std::size_t share_tokens_;
  std::size_t most_;
  std::size_t added_ = 0;
  std::vector<ContextSequence> slots_;
};

}  // namespace headwise::inline HEADWISE_ABI
