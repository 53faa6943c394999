#include "bench_cache.h"

#include <algorithm>
#include <utility>

#include "headwise/base/layout.h"

namespace headwise::cli {
namespace {

// The tokens [first, first + count) of a tensor (B, H, L, D), as (B, L, H, D).
template <class T>
TensorView<T, 4> tokens(const TensorView<T, 4>& all, std::size_t first,
                        std::size_t count) {
  const auto rows = as_blhd(all);
  return {count == 0 ? rows.data() : &rows(0, first, 0, 0),
          {rows.extent(0), count, rows.extent(2), rows.extent(3)},
          rows.strides()};
}

KvCacheOptions options_of(const Workload& workload) {
  KvCacheOptions options = *workload.cache;
  const AttentionShape& shape = workload.shape;
  const std::size_t page = options.page_size == 0 ? 1 : options.page_size;
  options.num_kv_heads = shape.Hkv;
  options.head_dim = shape.D;
  options.v_head_dim = shape.Dv;
  options.max_sequences = shape.B;
  options.max_tokens = shape.B * (shape.Lkv + page - 1) / page * page;
  return options;
}

}  // namespace

Result<BenchCache> BenchCache::create(const Workload& workload,
                                      TensorView<const float, 4> key,
                                      TensorView<const float, 4> value,
                                      const Executor& executor) {
  HEADWISE_ASSIGN(auto cache, KvCache::create(options_of(workload)));
  BenchCache created(workload, std::move(cache));
  const AttentionShape& shape = workload.shape;
  for (std::size_t b = 0; b < shape.B; ++b) {
    HEADWISE_ASSIGN(const auto id, created.cache_.add());
    created.ids_.push_back(id);
  }
  // Page by page, sequence by sequence: pages of one are apart in memory.
  const std::size_t step =
      workload.shuffled ? workload.cache->page_size : created.start_;
  for (std::size_t n = 0; n < created.start_; n += step) {
    const std::size_t count = std::min(step, created.start_ - n);
    HEADWISE_TRY(created.cache_.append(created.ids_, tokens(key, n, count),
                                       workload.cache->value_is_key_prefix
                                           ? TensorView<const float, 4>()
                                           : tokens(value, n, count)));
  }
  HEADWISE_ASSIGN(auto plan, DecodePlan::create(
                                 created.cache_, shape.Hq, shape.B * shape.Lq,
                                 {.mask = causal(),
                                  .arithmetic = workload.arithmetic,
                                  .executor = &executor}));
  HEADWISE_ASSIGN(auto workspace, Workspace::create(plan.workspace_bytes()));
  created.plan_.push_back(std::move(plan));
  created.workspace_.push_back(std::move(workspace));
  return created;
}

Status BenchCache::run(TensorView<const float, 4> query,
                       TensorView<const float, 4> key,
                       TensorView<const float, 4> value,
                       TensorView<float, 4> output) {
  const bool prefix = cache_.options().value_is_key_prefix;
  const std::size_t queries = query.extent(2);
  for (std::size_t n = 0; n < queries; n += chunk_) {
    const std::size_t count = std::min(chunk_, queries - n);
    HEADWISE_TRY(plan_.front().run(
        ids_, tokens(query, n, count), tokens(key, start_ + n, count),
        prefix ? TensorView<const float, 4>()
               : tokens(value, start_ + n, count),
        {.output = tokens(output, n, count)}, workspace_.front()));
  }
  for (const SequenceId id : ids_) {
    HEADWISE_TRY(cache_.truncate(id, start_));
  }
  return ok();
}

}  // namespace headwise::cli
