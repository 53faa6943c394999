// A step of a model that generates text: adds the new tokens of some sequences
// to a cache and attends to everything those sequences hold then.
//
//   query   (B, L, Hq, D)    in      or (1, rows, Hq, D) etc. with offsets
//   key     (B, L, Hkv, D)   in      of the new tokens: appended
//   value   (B, L, Hkv, Dv)  in      likewise
//   output  (B, L, Hq, Dv)   out
//
// These four are all float, all BFloat16 or all Float16, whatever the type of
// the cache. Of 16 bits, key and value are widened exactly and stored as the
// cache stores floats, and each element of the output is rounded once.
//
// A call is a token of each sequence, a prompt, or a chunk of one; sequences of
// any lengths, and calls of different numbers of tokens, may be mixed. Queries
// are the last tokens of their sequence: query 0 stands at the length before
// the call, which masks, ALiBi and dropout use as query_start. Causality is a
// mask, causal(), as everywhere.
//
// A row has the bits of attention() on the numbers that the cache holds,
// however the tokens came there (docs/arithmetic.md, "Caches").
//
// Example:
//   DecodePlan plan = DecodePlan::create(cache, 32, 512,
//                                        {.mask = causal()}).value();
//   Workspace workspace = Workspace::create(plan.workspace_bytes()).value();
//   Status s = plan.run(ids, q, k, v, {.output = out}, workspace);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/half.h"
#include "headwise/base/hidden.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/decode/kv_cache.h"
#include "headwise/run/workspace.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {
class DecodePart;
}  // namespace headwise::internal::inline HEADWISE_ABI

namespace headwise::inline HEADWISE_ABI {

struct DecodePlanState;

class DecodePlan {
 public:
  // A plan for `num_heads` query heads and at most `max_queries` new tokens per
  // run, over all sequences. The cache and the views in the options must
  // outlive the plan; what they hold is read, and masks and biases are checked,
  // in each run. Errors: those of AttentionSpec::create; invalid_argument for a
  // query_start or offsets, which the cache knows, for max_queries of 0, and
  // for num_heads other than the cache's received_heads; unsupported for
  // EmptyRow::uniform, added keys and parts of a call, for a score_weight where
  // the cache sums received attention, and in a cache with a rolling window for
  // scores before the mask, AttnWeights::mean and statistics of columns.
  static Result<DecodePlan> create(
      KvCache& cache, std::size_t num_heads, std::size_t max_queries,
      const AttentionOptions& options,
      const OperationOptions& operation_options = {});

  // The size of the memory that a run needs. It does not grow with the lengths;
  // for AttnWeights::mean and statistics of columns it is enough for the
  // longest sequence that the cache has room for.
  std::size_t workspace_bytes() const;

  // Appends key and value as KvCache::append() does, then writes the outputs
  // that have a view and adds to the cache's sums of received attention, if it
  // collects them. Allocates nothing. attn_weights and scores are (B, Hq,
  // longest L, longest length), filled as those of a ragged batch where a
  // sequence has no query or key. Statistics are those of the call's queries;
  // columns are (B, Hq, longest length), with offsets (1, Hq, all lengths).
  // Errors: those of KvCache::append() and of AttentionPlan::run(),
  // out_of_range for more than max_queries tokens; then nothing was appended
  // and no output was written.
  Status run(std::span<const SequenceId> ids, CallTensors tensors,
             Workspace& workspace,
             TensorView<const std::int64_t, 1> offsets = {}) const;
  // The same for tensors of each type, with the same plan.
#define HEADWISE_RUN(T)                                                       \
  Status run(std::span<const SequenceId> ids, TensorView<const T, 4> query,   \
             TensorView<const T, 4> key, TensorView<const T, 4> value,        \
             const AttentionOutputsOf<T>& outputs, Workspace& workspace,      \
             TensorView<const std::int64_t, 1> offsets = {}) const {          \
    return run(ids,                                                           \
               CallTensors(AttentionInputsOf<T>{query, key, value}, outputs), \
               workspace, offsets);                                           \
  }
  HEADWISE_RUN(float)
  HEADWISE_RUN(BFloat16)
  HEADWISE_RUN(Float16)
#undef HEADWISE_RUN

 private:
  friend class internal::DecodePart;
  explicit DecodePlan(Hidden<DecodePlanState> state)
      : state_(std::move(state)) {}
  static CacheState& state_of(KvCache& cache) { return *cache.state_; }

  Hidden<DecodePlanState> state_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
