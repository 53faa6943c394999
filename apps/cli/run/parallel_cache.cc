#include "parallel_cache.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "cached_run.h"
#include "cached_tensors.h"
#include "headwise/distribute/context_cache.h"
#include "operation/number_type.h"
#include "shell/rank_job.h"

namespace headwise::cli {
namespace {

// Shares end where blocks of keys do.
constexpr std::size_t kKeyBlock = 128;

// With fewer sequences than ranks each sequence is divided among all of them;
// otherwise the ranks take whole sequences in turn.
std::size_t share_tokens(const AttentionShape& shape, std::size_t ranks,
                         std::size_t page_size) {
  std::size_t longest = 0;
  for (std::size_t b = 0; b < shape.B; ++b) {
    longest = std::max(longest, shape.sequence(b).Lkv);
  }
  const std::size_t unit = std::lcm(kKeyBlock, page_size);
  const std::size_t parts = shape.B < ranks ? ranks * unit : unit;
  const std::size_t units =
      std::max<std::size_t>((longest + parts - 1) / parts, 1);
  const std::size_t most =
      std::max<std::size_t>(ContextCacheOptions{}.share_tokens / unit, 1);
  return (shape.B < ranks ? std::min(units, most) : units) * unit;
}

Result<ContextCache> make_cache(const CacheFlags& flags,
                                const AttentionShape& shape,
                                const Communicator& group) {
  ContextCacheOptions options = {.rank = cache_options(flags, shape)};
  const std::size_t share =
      share_tokens(shape, group.ranks(), options.rank.page_size);
  options.share_tokens = share;
  std::size_t shares = 0;  // at most, on one rank
  for (std::size_t b = 0; b < shape.B; ++b) {
    const std::size_t all = (shape.sequence(b).Lkv + share - 1) / share;
    shares += (all + group.ranks() - 1) / group.ranks();
  }
  options.rank.max_tokens = std::max<std::size_t>(shares, 1) * share;
  return ContextCache::create(options, group.ranks(), group.rank());
}

class SharedCacheRun {
 public:
  SharedCacheRun(Communicator& group, const CallTensors& views,
                 const AttentionShape& shape,
                 const OperationOptions& operation_options, ContextCache cache)
      : group_(group),
        views_(views),
        shape_(shape),
        operation_options_(operation_options),
        cache_(std::move(cache)) {}

  Status add_sequences() {
    for (std::size_t b = 0; b < shape_.B; ++b) {
      const auto id = cache_.add();
      HEADWISE_TRY(id);
      ids_.push_back(*id);
    }
    return append_past();
  }

  Result<ChunkOutputs> attend(const Chunk& chunk,
                              const AttentionOptions& options) {
    const auto query = gather(views_.query, chunk.queries);
    HEADWISE_TRY(query);
    auto output = step(*query, chunk.keys, options, operation_options_);
    HEADWISE_TRY(output);
    return ChunkOutputs{*std::move(output), {}, {}, {}};
  }

 private:
  // The keys before those of the queries. Only a step appends, so each of them
  // gets a query of zeros that attends to that key alone.
  Status append_past() {
    const std::vector<Rows> past = past_of(shape_);
    const auto rows = static_cast<std::size_t>(offsets_of(past).back());
    if (rows == 0) {
      return ok();
    }
    const auto query = Tensor<float, 4>::create({1, rows, shape_.Hq, shape_.D});
    HEADWISE_TRY(query);
    HEADWISE_TRY(step(*query, past, {.mask = window(0, 0)},
                      {.kv_groups = operation_options_.kv_groups}));
    return ok();
  }

  Result<Tensor<float, 4>> step(const Tensor<float, 4>& query,
                                const std::vector<Rows>& keys,
                                const AttentionOptions& options,
                                const OperationOptions& operation_options) {
    const std::vector<std::int64_t> offsets = offsets_of(keys);
    const auto key = gather(views_.key, keys);
    HEADWISE_TRY(key);
    const auto value = gather(views_.value, keys);
    HEADWISE_TRY(value);
    auto output = Tensor<float, 4>::create_unset(
        {1, query.extent(1), shape_.Hq, shape_.Dv});
    HEADWISE_TRY(output);
    HEADWISE_TRY(of_all_ranks(
        cache_.step(group_, ids_, query.view(), key->view(), value->view(),
                    output->view(), options, operation_options, offsets)));
    return output;
  }

  Communicator& group_;
  const CallTensors& views_;
  const AttentionShape& shape_;
  const OperationOptions& operation_options_;
  ContextCache cache_;
  std::vector<SequenceId> ids_{};
};

}  // namespace

Result<RunResult> attend_through_cache_together(
    Communicator& group, const RunFlags& flags, const Operands<float, 4>& in,
    const OperationInputs& inputs, const AttentionOptions& options,
    const OperationOptions& operation_options) {
  const CallTensors views(in, flags.heads_first());
  const auto shape = views.shape(options, operation_options);
  HEADWISE_TRY(shape);
  const auto run = CachedRun::create(flags, inputs, options, *shape);
  HEADWISE_TRY(of_all_ranks(run ? ok() : Status(run.error())));
  auto cache = make_cache(flags.cache, *shape, group);
  HEADWISE_TRY(agreed(group, cache ? ok() : Status(cache.error())));
  auto result = empty_result(flags, in, options, *shape);
  HEADWISE_TRY(result);
  SharedCacheRun shared(group, views, *shape, operation_options,
                        *std::move(cache));
  HEADWISE_TRY(shared.add_sequences());
  const auto attend = [&](const Chunk& chunk, const AttentionOptions& part) {
    return shared.attend(chunk, part);
  };
  HEADWISE_TRY(run->run(
      attend, *result,
      as_extents(result->output_by_heads.view(), flags.heads_first())));
  round_to(flags.dtype, result->output_by_heads.elements());
  return result;
}

}  // namespace headwise::cli
