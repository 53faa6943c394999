#include "cached_layer.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "cached_run.h"
#include "headwise/distribute/context_layer.h"
#include "operation/number_type.h"
#include "shared_cache.h"
#include "shell/outcome.h"
#include "shell/ranks/rank_job.h"

namespace headwise::cli {
namespace {

// The rows of tokens (B, L, E) in T: (1, rows, E).
template <class T>
Result<Tensor<T, 3>> gather_tokens(const Tensor<float, 3>& from,
                                   const std::vector<Rows>& rows) {
  const auto [B, L, E] = from.extents();
  HEADWISE_ASSIGN(
      auto gathered,
      gather(TensorView<const float, 4>(from.data(), {B, L, 1, E}), rows));
  const std::size_t count = gathered.extent(1);
  return narrow<T>(std::move(gathered).with_extents(Extents<3>{1, count, E}));
}

template <class T>
Result<ChunkOutputs> run_chunk(const MultiHeadAttention& layer,
                               const Operands<float, 3>& in, const Chunk& chunk,
                               AttentionOptions options,
                               CachedSequences& cached) {
  HEADWISE_ASSIGN(const auto tokens,
                  operands_of(gather_tokens<T>(in.query, chunk.queries),
                              gather_tokens<T>(in.key, chunk.keys),
                              gather_tokens<T>(in.value, chunk.keys)));
  const std::vector<std::int64_t> offsets = offsets_of(chunk.queries);
  options.offsets = offsets;
  LayerOptions layer_options;
  layer_options.cache = &cached.cache;
  layer_options.sequences = cached.ids;
  HEADWISE_ASSIGN(auto result,
                  layer.forward(tokens.query, tokens.key, tokens.value, options,
                                layer_options));
  HEADWISE_ASSIGN(auto output, widen<T>(std::move(result.output)));
  const auto [one, rows, E] = output.extents();
  return ChunkOutputs{
      std::move(output).with_extents(Extents<4>{one, rows, 1, E}),
      std::move(result.attn_weights), std::move(result.lse),
      std::move(result.scores)};
}

Status check_same_tokens(const AttentionShape& shape) {
  for (std::size_t b = 0; b < shape.B; ++b) {
    const SequencePlace place = shape.sequence(b);
    if (place.Lq != place.Lkv) {
      return option_error(
          "--query", message("has {} queries", place.Lq),
          message("{}, one for each key, with --cache and --params", place.Lkv),
          ErrorCode::shape_mismatch);
    }
  }
  return ok();
}

Result<CachedRun> checked_run(const RunFlags& flags,
                              const OperationInputs& inputs,
                              const AttentionOptions& options,
                              const AttentionShape& tensors) {
  HEADWISE_ASSIGN(
      const auto spec,
      AttentionSpec::create(tensors, options, {.kv_groups = tensors.kv_groups},
                            "run"));
  HEADWISE_TRY(check_same_tokens(spec.shape));
  return CachedRun::create(flags, inputs, options, spec.shape);
}

Result<RunResult> run_chunks(const CachedRun& run,
                             const MultiHeadAttentionConfig& config,
                             const Operands<float, 3>& in,
                             const AttentionOptions& options,
                             const CachedRun::Attend& attend) {
  const AttentionShape& shape = run.shape();
  HEADWISE_ASSIGN(auto result, cached_result(options, shape));
  const auto [B, L, E] = in.query.extents();
  const std::size_t size =
      config.out_proj ? config.embed_dim : shape.Hq * shape.Dv;
  HEADWISE_ASSIGN(auto output, Tensor<float, 3>::create({B, L, size}));
  HEADWISE_TRY(run.run(attend, result,
                       TensorView<float, 4>(output.data(), {B, L, 1, size})));
  result.output = std::move(output);
  return result;
}

Result<ChunkOutputs> run_chunk_together(
    Communicator& group, const RunFlags& flags, const MultiHeadAttention& layer,
    const Operands<float, 3>& in, const Chunk& chunk, AttentionOptions options,
    SharedSequences& shared) {
  HEADWISE_ASSIGN(auto tokens,
                  operands_of(gather_tokens<float>(in.query, chunk.queries),
                              gather_tokens<float>(in.key, chunk.keys),
                              gather_tokens<float>(in.value, chunk.keys)));
  for (auto* tensor : {&tokens.query, &tokens.key, &tokens.value}) {
    round_to(flags.dtype, tensor->elements());
  }
  const std::vector<std::int64_t> offsets = offsets_of(chunk.queries);
  options.offsets = offsets;
  auto output =
      context_layer_step(group, layer, shared.cache, shared.ids,
                         {tokens.query, tokens.key, tokens.value}, options);
  HEADWISE_TRY(of_all_ranks(output));
  round_to(flags.dtype, output->elements());
  const auto [one, rows, E] = output->extents();
  return ChunkOutputs{
      std::move(*output).with_extents(Extents<4>{one, rows, 1, E}), {}, {}, {}};
}

}  // namespace

Result<RunResult> layer_through_cache(const RunFlags& flags,
                                      const MultiHeadAttention& layer,
                                      const Operands<float, 3>& in,
                                      const OperationInputs& inputs,
                                      const AttentionOptions& options,
                                      const AttentionShape& tensors) {
  HEADWISE_ASSIGN(const auto run, checked_run(flags, inputs, options, tensors));
  HEADWISE_ASSIGN(auto cached,
                  CachedSequences::create(flags.cache, run.shape()));
  return run_chunks(run, layer.config(), in, options,
                    [&](const Chunk& chunk, const AttentionOptions& part) {
                      return with_dtype(flags.dtype, [&](auto number) {
                        return run_chunk<decltype(number)>(layer, in, chunk,
                                                           part, cached);
                      });
                    });
}

Result<RunResult> layer_through_cache_together(
    Communicator& group, const RunFlags& flags, const MultiHeadAttention& layer,
    const Operands<float, 3>& in, const OperationInputs& inputs,
    const AttentionOptions& options, const AttentionShape& tensors) {
  const auto run = checked_run(flags, inputs, options, tensors);
  HEADWISE_TRY(agreed(group, run));
  HEADWISE_ASSIGN(auto shared,
                  SharedSequences::create(group, flags.cache, run->shape()));
  return run_chunks(*run, layer.config(), in, options,
                    [&](const Chunk& chunk, const AttentionOptions& part) {
                      return run_chunk_together(group, flags, layer, in, chunk,
                                                part, shared);
                    });
}

}  // namespace headwise::cli
