// The keys and values of sequences that grow: what a model that generates text
// keeps of the tokens so far. One cache per layer.
//
//   append()    adds tokens at the end of sequences; DecodePlan::run()
//               (decode/decode_plan.h) adds them and attends in one call
//   truncate()  takes the last tokens back, as speculative decoding does
//   fork()      a second sequence with the same tokens: beams, shared prefixes
//   keep()      evicts all tokens but some
//   erase()     ends a sequence
//
// A sequence lives in pages of `page_size` tokens, taken as it grows and given
// back when no sequence needs them. Forked sequences share pages until one of
// them writes there. A contiguous cache gives each sequence pages of its own
// that follow one another in memory.
//
// Keys and values are stored as `dtype`, rounded once when they are appended,
// and computed with as docs/arithmetic.md ("Caches") says. A row attends to
// what the cache holds, the tokens of its own call included: its bits are the
// same whether a prompt comes in one call, in chunks or token by token,
// contiguous or in pages of any size, alone or in a batch, and after truncate()
// and fork().
//
// On request the cache sums the attention that each token receives from each
// query head (received_heads), from which eviction policies such as H2O and
// SnapKV choose the tokens to keep.
//
// All memory is taken in create(). Errors are found before anything is changed.
// One thread at a time may use a cache.
//
// Example:
//   KvCache cache = KvCache::create({.num_kv_heads = 8, .head_dim = 128,
//                                    .max_tokens = 65536,
//                                    .max_sequences = 16}).value();
//   SequenceId id = cache.add().value();
//   Status s = cache.append({{id}}, key, value);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "headwise/base/dtype.h"
#include "headwise/base/half.h"
#include "headwise/base/hidden.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_arg.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// A sequence of one cache. An erased sequence's id never comes back.
struct SequenceId {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;

  friend bool operator==(SequenceId, SequenceId) = default;
};

// The cache of a model whose queries see the last keys only: pages that no
// later query can see are given back. Every plan on the cache has the mask
// window(left, std::nullopt, keep_first) in addition to its own. Keys keep the
// positions they have in the sequence.
struct RollingWindow {
  std::int64_t left = 0;        // keys before the query
  std::int64_t keep_first = 0;  // keys at the start that stay visible
};

struct KvCacheOptions {
  std::size_t num_kv_heads = 0;
  std::size_t head_dim = 0;
  std::size_t v_head_dim = 0;  // 0: head_dim
  // float32, bfloat16, float16, or int8 with a scale per head and token.
  DType dtype = DType::float32;
  // Tokens per page: 16, 32, or a multiple of 64. 0: contiguous, where each
  // sequence has room for max_tokens / max_sequences tokens.
  std::size_t page_size = 128;
  // Over all sequences; rounded up to whole pages. Shared pages count once.
  std::size_t max_tokens = 0;
  std::size_t max_sequences = 1;
  // Values are the first v_head_dim features of the keys and are not stored
  // again: latent attention. append() then takes no values.
  bool value_is_key_prefix = false;
  std::optional<RollingWindow> window{};
  // The number of query heads whose attention weights are summed for each
  // token; plans on the cache must have this number. 0: none are. The sums take
  // 4 bytes per head, sequence and token that the sequence has room for, and
  // truncate() is an error while they are collected.
  std::size_t received_heads = 0;
};

struct HEADWISE_HIDDEN CacheState;

class KvCache {
 public:
  // Errors: invalid_argument for sizes of 0, a page size or a type other than
  // those above, a value prefix longer than the key, a negative window;
  // out_of_memory.
  static Result<KvCache> create(const KvCacheOptions& options);

  // With v_head_dim filled in.
  const KvCacheOptions& options() const;

  // A new sequence without tokens. Errors: out_of_range if there are
  // max_sequences already.
  Result<SequenceId> add();

  // Adds tokens at the end of sequences, all or none. Sequence n gets the rows
  //   n of key (B, L, Hkv, D) and value (B, L, Hkv, Dv), or with `offsets`
  //   (B + 1) offsets[n] to offsets[n + 1] of key (1, rows, Hkv, D) and value
  //   (1, rows, Hkv, Dv), which may be none.
  // The tensors may have any strides. Errors: out_of_range for a sequence that
  // does not exist, where the cache has too few free pages, and for a finite
  // number that its type would hold as an infinity (from 65520 in float16);
  // invalid_argument for a sequence given twice and for two types;
  // shape_mismatch; those of Offsets::check.
  // Both have one type, float, BFloat16 or Float16, whatever that of the cache:
  // each 16-bit number is widened exactly and then rounded once, unless the
  // cache has its type.
  Status append(std::span<const SequenceId> ids, const TensorArg& key,
                const TensorArg& value,
                TensorView<const std::int64_t, 1> offsets = {});

  // Keeps the first `length` tokens. Errors: out_of_range for a sequence that
  // does not exist, a length beyond its own, or one whose next query would see
  // keys that a rolling window gave back; unsupported where received attention
  // is summed, which cannot be taken back.
  Status truncate(SequenceId id, std::size_t length);
  // A new sequence with the same tokens and sums of received attention. Takes
  // no page, unless the cache is contiguous. Errors: out_of_range, as in add().
  Result<SequenceId> fork(SequenceId id);
  // Keeps the tokens `indices` (n), which increase strictly, and evicts the
  // others. Afterwards the sequence is one of n tokens: token indices[i] is its
  // token i, with the key and value as they were stored and its sums. Masks,
  // ALiBi and query_start count from there; a rotated key stays as it is
  // rotated. Rows then have the bits of attention() on the kept tokens, but no
  // longer those of a call on all tokens with the others masked: keys that
  // moved are in other blocks of the sums. Takes a page for each page that it
  // writes to and that a fork shares. Errors: out_of_range for a sequence that
  // does not exist, an index beyond its length, and where the cache has too few
  // free pages; invalid_argument for indices that do not increase; unsupported
  // in a cache with a rolling window.
  Status keep(SequenceId id, TensorView<const std::int64_t, 1> indices);
  // Errors: out_of_range for a sequence that does not exist.
  Status erase(SequenceId id);

  // The number of tokens, those that a rolling window gave back included.
  // Errors: out_of_range for a sequence that does not exist.
  Result<std::size_t> length(SequenceId id) const;
  // Writes the stored keys (L, Hkv, D) and values (L, Hkv, Dv) of the tokens
  // from `first` on, as numbers of float32. A view without data: not wanted.
  // Errors: out_of_range for a sequence that does not exist, tokens beyond its
  // length or that a rolling window gave back; shape_mismatch.
  Status read(SequenceId id, std::size_t first, TensorView<float, 3> key,
              TensorView<float, 3> value) const;
  // Writes the attention (received_heads, L) that the tokens from `first` on
  // received so far: for each query head the sum of its attention weights
  // before dropout, over all queries of the runs of plans since the token was
  // appended (docs/arithmetic.md, "Received attention"). Errors: those of
  // read(); unsupported where received_heads is 0.
  Status read_received(SequenceId id, std::size_t first,
                       TensorView<float, 2> sums) const;

  std::size_t sequences() const;
  std::size_t pages() const;
  std::size_t free_pages() const;
  // Bytes of the stored keys and values, without sums of received attention.
  std::size_t bytes() const;

 private:
  friend class DecodePlan;
  explicit KvCache(Hidden<CacheState> state) : state_(std::move(state)) {}

  Hidden<CacheState> state_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
