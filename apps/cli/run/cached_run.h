// A call through a cache, as --cache asks for, whether of the operation or of a
// layer.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "chunk.h"
#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/decode/kv_cache.h"
#include "operation/operation_inputs.h"
#include "run_call.h"
#include "run_flags.h"

namespace headwise::cli {

class CachedRun {
 public:
  // Attends to a chunk after its keys were appended. The options are those of
  // the chunk.
  using Attend = std::function<Result<ChunkOutputs>(
      const Chunk& chunk, const AttentionOptions& options)>;

  // `shape`: of the whole call. Everything must outlive this object. Errors:
  // out_of_range for queries that are not the last tokens of their sequence;
  // usage for chunks whose queries look ahead; out_of_memory.
  static Result<CachedRun> create(const RunFlags& flags,
                                  const OperationInputs& inputs,
                                  const AttentionOptions& options,
                                  const AttentionShape& shape);

  KvCache& cache() { return cache_; }
  std::span<const SequenceId> ids() const { return ids_; }

  // All chunks, into `result` and its output (B, L, H, Dv).
  Status run(const Attend& attend, RunResult& result,
             const TensorView<float, 4>& output);

 private:
  CachedRun(const RunFlags& flags, const OperationInputs& inputs,
            const AttentionOptions& options, const AttentionShape& shape,
            KvCache cache)
      : flags_(flags),
        inputs_(inputs),
        options_(options),
        shape_(shape),
        cache_(std::move(cache)) {}

  const RunFlags& flags_;
  const OperationInputs& inputs_;
  const AttentionOptions& options_;
  AttentionShape shape_;
  KvCache cache_;
  std::vector<SequenceId> ids_;
};

// The attention weights (B, Hq | 1, Lq, Lkv) and scores (B, Hq, Lq, Lkv) that
// are asked for, and the log-sum-exp of all rows: zeros, and for scores after
// the mask -inf. Errors: out_of_memory.
Result<RunResult> cached_result(const AttentionOptions& options,
                                const AttentionShape& shape);

}  // namespace headwise::cli
