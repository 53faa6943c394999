// A workload whose keys and values are in a cache: each run appends the last
// tokens of its sequences and attends, then takes them back.
#pragma once

#include <memory>
#include <vector>

#include "bench_workload.h"
#include "headwise/base/tensor.h"
#include "headwise/decode/decode_plan.h"
#include "headwise/decode/kv_cache.h"
#include "headwise/run/executor.h"
#include "headwise/run/workspace.h"

namespace headwise::cli {

class BenchCache {
 public:
  // The tensors (B, H, L, D) of the workload; the keys before its queries are
  // in the cache. The executor must outlive it. Errors: those of
  // KvCache::create, DecodePlan::create and KvCache::append.
  static Result<BenchCache> create(const Workload& workload,
                                   TensorView<const float, 4> key,
                                   TensorView<const float, 4> value,
                                   const Executor& executor);

  // The queries in chunks of the workload; `output` (B, Hq, Lq, Dv) as the
  // tensors. Errors: those of DecodePlan::run.
  Status run(TensorView<const float, 4> query, TensorView<const float, 4> key,
             TensorView<const float, 4> value, TensorView<float, 4> output);

 private:
  BenchCache(const Workload& workload, KvCache cache)
      : start_(workload.shape.Lkv - workload.shape.Lq),
        chunk_(workload.chunk == 0 ? workload.shape.Lq : workload.chunk),
        cache_(std::move(cache)) {}

  std::size_t start_;  // tokens before the queries
  std::size_t chunk_;
  KvCache cache_;
  std::vector<DecodePlan> plan_;  // one
  std::vector<Workspace> workspace_;
  std::vector<SequenceId> ids_;
};

}  // namespace headwise::cli
