// A call through a cache, as --cache asks for, whether of the operation or of a
// layer.
#pragma once

#include <functional>
#include <vector>

#include "chunk.h"
#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/decode/kv_cache.h"
#include "operation/operation_inputs.h"
#include "run_call.h"
#include "run_flags.h"

namespace headwise::cli {

// Without max_tokens.
KvCacheOptions cache_options(const CacheFlags& flags,
                             const AttentionShape& shape);

// A cache of one process, with room for all tokens of the call.
struct CachedSequences {
  KvCache cache;
  std::vector<SequenceId> ids{};

  // Errors: out_of_memory.
  static Result<CachedSequences> create(const CacheFlags& flags,
                                        const AttentionShape& shape);
};

class CachedRun {
 public:
  // Attends to a chunk after its keys were appended. The options are those of
  // the chunk.
  using Attend = std::function<Result<ChunkOutputs>(
      const Chunk& chunk, const AttentionOptions& options)>;

  // `shape`: of the whole call. Everything must outlive this object. Errors:
  // out_of_range for queries that are not the last tokens of their sequence;
  // usage for chunks whose queries look ahead.
  static Result<CachedRun> create(const RunFlags& flags,
                                  const OperationInputs& inputs,
                                  const AttentionOptions& options,
                                  const AttentionShape& shape);

  const AttentionShape& shape() const { return shape_; }

  // All chunks, into `result` and its output (B, L, H, Dv).
  Status run(const Attend& attend, RunResult& result,
             const TensorView<float, 4>& output) const;

 private:
  CachedRun(const RunFlags& flags, const OperationInputs& inputs,
            const AttentionOptions& options, const AttentionShape& shape)
      : flags_(flags), inputs_(inputs), options_(options), shape_(shape) {}

  const RunFlags& flags_;
  const OperationInputs& inputs_;
  const AttentionOptions& options_;
  AttentionShape shape_;
};

// The attention weights (B, Hq | 1, Lq, Lkv) and scores (B, Hq, Lq, Lkv) that
// are asked for, and the log-sum-exp of all rows: zeros, and for scores after
// the mask -inf. Errors: out_of_memory.
Result<RunResult> cached_result(const AttentionOptions& options,
                                const AttentionShape& shape);

}  // namespace headwise::cli
