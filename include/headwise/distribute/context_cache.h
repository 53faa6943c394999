// A cache of keys and values that is divided among the ranks of a group by
// tokens: for sequences that do not fit one machine. As KvCache and DecodePlan,
// it adds new tokens to its sequences and attends to everything that those
// hold; the outputs have the bits of one process with one cache.
//
//   query   (B, L, Hq, D)    in      or (1, rows, Hq, D) etc. with offsets
//   key     (B, L, Hkv, D)   in      of the new tokens: appended
//   value   (B, L, Hkv, Dv)  in      likewise
//   output  (B, L, Hq, Dv)   out
//
// Each sequence is cut into shares of `share_tokens` tokens, which the ranks
// take in turn: the first rank of each sequence is the one after the first rank
// of the sequence before it. New tokens go to the last share; once that is
// full, the next rank begins another one. A rank has room for max_tokens
// tokens.
//
// In a step a row goes from share to share, in the order of the keys, with its
// AttentionState (attention/state.h), so no two partial results are ever added.
// Ranks work at the same time on different sequences and heads: one sequence
// is handed on in groups of heads. Shares of which no query of the step sees a
// key are left out.
//
// Every rank passes the same tensors and gets all outputs; all ranks make the
// same calls in the same order. Sizes, lengths and most options are compared,
// the contents of tensors are not.
//
// Errors of a step, on every rank: those of DecodePlan; invalid_argument for
// ranks that were given different calls; unsupported for what needs all keys in
// one place: attention weights, scores and statistics; rank_failure.
// After an error the group and the cache cannot be used, and outputs may be
// partly written.
//
// Example:
//   ContextCache cache =
//       ContextCache::create({.rank = {.num_kv_heads = 8, .head_dim = 128,
//                                      .max_tokens = 1 << 20}},
//                            group.ranks(), group.rank()).value();
//   SequenceId id = cache.add().value();
//   Status s = cache.step(group, {{id}}, q, k, v, out, {.mask = causal()});
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "headwise/attention/spec.h"
#include "headwise/base/hidden.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_arg.h"
#include "headwise/base/tensor_view.h"
#include "headwise/decode/decode_plan.h"
#include "headwise/decode/kv_cache.h"
#include "headwise/distribute/communicator.h"
#include "headwise/run/workspace.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct ContextCacheOptions {
  // What a rank stores. max_tokens is the room of each rank, max_sequences
  // that of all ranks together. Without a rolling window, received_heads and
  // value_is_key_prefix, and in pages.
  KvCacheOptions rank{};
  // A multiple of 128 and of the page size.
  std::size_t share_tokens = 4096;
};

struct HEADWISE_HIDDEN ContextCacheState;

class ContextCache {
 public:
  // The part of rank `rank` of `ranks`. Errors: those of KvCache::create();
  // invalid_argument for share_tokens that are not such a multiple or for no
  // ranks; out_of_range for a rank that is not below `ranks`; unsupported for
  // the options above.
  static Result<ContextCache> create(const ContextCacheOptions& options,
                                     std::size_t ranks, std::size_t rank);

  // A new sequence without tokens; the same number on every rank. Errors:
  // out_of_range if there are max_sequences already.
  Result<SequenceId> add();
  // Keeps the first `length` tokens. Errors: out_of_range for a sequence that
  // does not exist or a length beyond its own.
  Status truncate(SequenceId id, std::size_t length);
  // Errors: out_of_range for a sequence that does not exist.
  Status erase(SequenceId id);
  // The tokens on all ranks. Errors: likewise.
  Result<std::size_t> length(SequenceId id) const;
  // The tokens that this rank stores, of all sequences.
  std::size_t own_tokens() const;

  // All four tensors have one type, whatever that of the cache: float, BFloat16
  // or Float16.
  Status step(Communicator& group, std::span<const SequenceId> ids,
              const TensorArg& query, const TensorArg& key,
              const TensorArg& value, const TensorArg& output,
              const AttentionOptions& options = {},
              const OperationOptions& operation_options = {},
              TensorView<const std::int64_t, 1> offsets = {});

 private:
  explicit ContextCache(Hidden<ContextCacheState> state)
      : state_(std::move(state)) {}

  Hidden<ContextCacheState> state_;
};

// Decoding by ranks that have whole sequences: each keeps a KvCache with some
// of them and computes their steps; then all ranks get all outputs.
//
// Example: who has which of the sequences, by the tokens that they hold.
//   const auto owners = deal_sequences({{9000, 100, 4000}}, group.ranks());
//   // add() and append() the own sequences to `cache`, make a `plan` on it
//   Status s = decode_sequences(group, plan, {*owners, own_ids}, q, k, v, out,
//                               workspace);

// The rank of each sequence: the longest first, each to the rank with the
// fewest tokens so far. Depends on nothing else, so every rank finds the same.
// Errors: invalid_argument for no ranks; out_of_memory.
Result<std::vector<std::size_t>> deal_sequences(
    std::span<const std::size_t> lengths, std::size_t ranks);

struct DealtSequences {
  std::span<const std::size_t> owners;  // (B), the rank of each sequence
  // Those of this rank in its cache, in their order in the call.
  std::span<const SequenceId> own{};
};

// DecodePlan::run() on the tensors of all sequences, which are the same on
// every rank, as is the output. Errors, on every rank: those of
// DecodePlan::run(); shape_mismatch, out_of_range for owners that do not fit;
// invalid_argument for ranks that were given different calls; rank_failure.
// After an error the group and the caches of all ranks cannot be used, and
// outputs may be partly written.
Status decode_sequences(Communicator& group, const DecodePlan& plan,
                        const DealtSequences& sequences, const TensorArg& query,
                        const TensorArg& key, const TensorArg& value,
                        const TensorArg& output, Workspace& workspace,
                        TensorView<const std::int64_t, 1> offsets = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
