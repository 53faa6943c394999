#include "parallel_cache.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "cached_run.h"
#include "cached_tensors.h"
#include "operation/number_type.h"
#include "shared_cache.h"
#include "shell/ranks/rank_job.h"

namespace headwise::cli {
namespace {

class SharedCacheRun {
 public:
  SharedCacheRun(Communicator& group, const CachedTensors& views,
                 const AttentionShape& shape,
                 const OperationOptions& operation_options,
                 SharedSequences shared)
      : group_(group),
        views_(views),
        shape_(shape),
        operation_options_(operation_options),
        shared_(std::move(shared)) {}

  // The keys before those of the queries. Only a step appends, so each of them
  // gets a query of zeros that attends to that key alone.
  Status append_past() {
    const std::vector<Rows> past = past_of(shape_);
    const auto rows = static_cast<std::size_t>(offsets_of(past).back());
    if (rows == 0) {
      return ok();
    }
    HEADWISE_ASSIGN(const auto query,
                    Tensor<float, 4>::create({1, rows, shape_.Hq, shape_.D}));
    HEADWISE_TRY(step(query, past, {.mask = window(0, 0)},
                      {.kv_groups = operation_options_.kv_groups}));
    return ok();
  }

  Result<ChunkOutputs> attend(const Chunk& chunk,
                              const AttentionOptions& options) {
    HEADWISE_ASSIGN(const auto query, gather(views_.query, chunk.queries));
    HEADWISE_ASSIGN(auto output,
                    step(query, chunk.keys, options, operation_options_));
    return ChunkOutputs{std::move(output), {}, {}, {}};
  }

 private:
  Result<Tensor<float, 4>> step(const Tensor<float, 4>& query,
                                const std::vector<Rows>& keys,
                                const AttentionOptions& options,
                                const OperationOptions& operation_options) {
    const std::vector<std::int64_t> offsets = offsets_of(keys);
    HEADWISE_ASSIGN(const auto key, gather(views_.key, keys));
    HEADWISE_ASSIGN(const auto value, gather(views_.value, keys));
    HEADWISE_ASSIGN(auto output,
                    Tensor<float, 4>::create_unset(
                        {1, query.extent(1), shape_.Hq, shape_.Dv}));
    HEADWISE_TRY(of_all_ranks(shared_.cache.step(
        group_, shared_.ids, query.view(), key.view(), value.view(),
        output.view(), options, operation_options, offsets)));
    return output;
  }

  Communicator& group_;
  const CachedTensors& views_;
  const AttentionShape& shape_;
  const OperationOptions& operation_options_;
  SharedSequences shared_;
};

}  // namespace

Result<RunResult> attend_through_cache_together(
    Communicator& group, const RunFlags& flags, const Operands<float, 4>& in,
    const OperationInputs& inputs, const AttentionOptions& options,
    const OperationOptions& operation_options, const AttentionShape& shape) {
  const CachedTensors views(in, flags.heads_first());
  const auto run = CachedRun::create(flags, inputs, options, shape);
  HEADWISE_TRY(agreed(group, run));
  HEADWISE_ASSIGN(auto sequences,
                  SharedSequences::create(group, flags.cache, shape));
  HEADWISE_ASSIGN(auto result, empty_result(flags, in, options, shape));
  SharedCacheRun shared(group, views, shape, operation_options,
                        std::move(sequences));
  HEADWISE_TRY(shared.append_past());
  const auto attend = [&](const Chunk& chunk, const AttentionOptions& part) {
    return shared.attend(chunk, part);
  };
  HEADWISE_TRY(
      run->run(attend, result,
               as_extents(result.output_by_heads.view(), flags.heads_first())));
  round_to(flags.dtype, result.output_by_heads.elements());
  return result;
}

}  // namespace headwise::cli
