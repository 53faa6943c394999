#include "cached_call.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cached_run.h"
#include "cached_tensors.h"
#include "headwise/decode/decode_plan.h"
#include "headwise/run/workspace.h"

namespace headwise::cli {
namespace {

// Outputs of a chunk, not yet written. Errors: out_of_memory.
Result<ChunkOutputs> make_outputs(const AttentionShape& shape,
                                  const AttentionOptions& options,
                                  const Chunk& chunk) {
  const auto rows = static_cast<std::size_t>(offsets_of(chunk.queries).back());
  const auto keys = static_cast<std::size_t>(std::ranges::max(chunk.lengths));
  auto output = Tensor<float, 4>::create_unset({1, rows, shape.Hq, shape.Dv});
  const auto pairs = [&](std::size_t heads) {
    return Tensor<float, 4>::create_unset(
        heads == 0 ? Extents<4>{}
                   : Extents<4>{shape.B, heads, chunk.longest, keys});
  };
  auto attn_weights = pairs(weight_heads(options, shape.Hq));
  auto scores = pairs(score_heads(options, shape.Hq));
  auto lse = Tensor<float, 3>::create_unset({1, shape.Hq, rows});
  HEADWISE_TRY(output);
  HEADWISE_TRY(attn_weights);
  HEADWISE_TRY(scores);
  HEADWISE_TRY(lse);
  return ChunkOutputs{*std::move(output), *std::move(attn_weights),
                      *std::move(lse), *std::move(scores)};
}

// Appends the keys before those of the queries.
Status append_past(const CachedTensors& views, const AttentionShape& shape,
                   CachedSequences& cached) {
  const std::vector<Rows> past = past_of(shape);
  HEADWISE_ASSIGN(const auto key, gather(views.key, past));
  HEADWISE_ASSIGN(const auto value, gather(views.value, past));
  const std::vector<std::int64_t> offsets = offsets_of(past);
  return cached.cache.append(cached.ids, key, value, offsets);
}

Result<ChunkOutputs> attend_to_chunk(const CachedTensors& views,
                                     const AttentionShape& shape,
                                     const Chunk& chunk,
                                     const AttentionOptions& options,
                                     const OperationOptions& operation_options,
                                     CachedSequences& cached) {
  const std::vector<std::int64_t> offsets = offsets_of(chunk.queries);
  HEADWISE_ASSIGN(const auto plan,
                  DecodePlan::create(cached.cache, shape.Hq,
                                     static_cast<std::size_t>(offsets.back()),
                                     options, operation_options));
  HEADWISE_ASSIGN(auto workspace, Workspace::create(plan.workspace_bytes()));
  HEADWISE_ASSIGN(const auto in, operands_of(gather(views.query, chunk.queries),
                                             gather(views.key, chunk.keys),
                                             gather(views.value, chunk.keys)));
  HEADWISE_ASSIGN(auto outputs, make_outputs(shape, options, chunk));
  HEADWISE_TRY(plan.run(cached.ids, in.query, in.key, in.value,
                        {.output = outputs.output,
                         .attn_weights = outputs.attn_weights,
                         .lse = outputs.lse,
                         .scores = outputs.scores},
                        workspace, offsets));
  return outputs;
}

// The rows of one sequence in a tensor (B, L, H, D).
TensorView<float, 3> sequence_of(const TensorView<float, 4>& all,
                                 const SequencePlace& place) {
  return {&all(place.batch, place.first_key, 0, 0),
          {place.Lkv, all.extent(2), all.extent(3)},
          {all.stride(1), all.stride(2), all.stride(3)}};
}

// What the cache holds, in the layout of the files.
Status read_present(const AttentionShape& shape, bool heads_first,
                    CachedSequences& cached, RunResult& result) {
  const std::span<const SequenceId> ids = cached.ids;
  const auto key = as_extents(result.present_key.view(), heads_first);
  const auto value = as_extents(result.present_value.view(), heads_first);
  for (std::size_t b = 0; b < ids.size(); ++b) {
    const SequencePlace place = shape.sequence(b);
    if (place.Lkv != 0) {
      HEADWISE_TRY(cached.cache.read(ids[b], 0, sequence_of(key, place),
                                     sequence_of(value, place)));
    }
  }
  return ok();
}

}  // namespace

Result<RunResult> attend_through_cache(
    const RunFlags& flags, const Operands<float, 4>& in,
    const OperationInputs& inputs, const AttentionOptions& options,
    const OperationOptions& operation_options, const AttentionShape& shape) {
  const bool heads_first = flags.heads_first();
  const CachedTensors views(in, heads_first);
  HEADWISE_ASSIGN(const auto run,
                  CachedRun::create(flags, inputs, options, shape));
  HEADWISE_ASSIGN(auto cached, CachedSequences::create(flags.cache, shape));
  HEADWISE_ASSIGN(auto result, empty_result(flags, in, options, shape));
  HEADWISE_TRY(append_past(views, shape, cached));
  const auto attend = [&](const Chunk& chunk, const AttentionOptions& part) {
    return attend_to_chunk(views, shape, chunk, part, operation_options,
                           cached);
  };
  HEADWISE_TRY(run.run(attend, result,
                       as_extents(result.output_by_heads.view(), heads_first)));
  round_to(flags.dtype, result.output_by_heads.elements());
  if (!flags.present_dir.empty()) {
    HEADWISE_TRY(read_present(shape, heads_first, cached, result));
  }
  return result;
}

}  // namespace headwise::cli
