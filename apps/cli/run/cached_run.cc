#include "cached_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "headwise/base/checked_product.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

Status check_positions(const AttentionOptions& options,
                       const AttentionShape& shape) {
  for (std::size_t b = 0; b < shape.B; ++b) {
    const SequencePlace place = shape.sequence(b);
    if (place.Lq > place.Lkv) {
      return option_error(
          "--query", message("has {} queries", place.Lq),
          message("at most {} with --cache, one for each key", place.Lkv),
          ErrorCode::shape_mismatch);
    }
    const std::int64_t start = options.query_start.of(b, shape);
    const auto before = static_cast<std::int64_t>(place.Lkv - place.Lq);
    if (start != before) {
      return option_error(
          "--query-start", message("is {}", start),
          message("{} with --cache: the last query is at the last key", before),
          ErrorCode::out_of_range);
    }
  }
  return ok();
}

Status check_chunk(const RunFlags& flags, const OperationInputs& inputs,
                   ScoresStage scores) {
  if (!flags.cache.chunk) {
    return ok();
  }
  if (inputs.looks_ahead()) {
    return usage_error(
        "--chunk needs --causal or --window LEFT,0: otherwise queries attend "
        "to keys after their chunk");
  }
  if (scores == ScoresStage::raw || scores == ScoresStage::softcap) {
    return usage_error(
        "--scores-out needs --scores-stage bias or softmax with --chunk: "
        "before the mask it has scores of keys after the chunk");
  }
  return ok();
}

DType dtype_of(const CacheFlags& flags) {
  for (const DType dtype : {DType::bfloat16, DType::float16, DType::int8}) {
    if (flags.dtype == name_of(dtype)) {
      return dtype;
    }
  }
  return DType::float32;
}

// The tokens of all sequences: in whole pages, or in equal regions.
std::optional<std::size_t> tokens_of(const AttentionShape& shape,
                                     std::size_t page_size) {
  if (page_size == 0) {
    return checked_product(std::array<std::size_t, 2>{shape.B, shape.Lkv});
  }
  std::size_t tokens = 0;
  for (std::size_t b = 0; b < shape.B; ++b) {
    const std::size_t pages =
        (shape.sequence(b).Lkv + page_size - 1) / page_size;
    tokens += pages * page_size;
  }
  return tokens;
}

}  // namespace

KvCacheOptions cache_options(const CacheFlags& flags,
                             const AttentionShape& shape) {
  return {.num_kv_heads = shape.Hkv,
          .head_dim = shape.D,
          .v_head_dim = shape.Dv,
          .dtype = dtype_of(flags),
          .page_size = flags.kind == "paged" ? flags.page_size.value_or(
                                                   KvCacheOptions{}.page_size)
                                             : 0,
          .max_sequences = std::max<std::size_t>(shape.B, 1)};
}

Result<CachedSequences> CachedSequences::create(const CacheFlags& flags,
                                                const AttentionShape& shape) {
  KvCacheOptions options = cache_options(flags, shape);
  const auto tokens = tokens_of(shape, options.page_size);
  if (!tokens) {
    return Error::no_memory_for(~std::uint64_t{0});
  }
  options.max_tokens = std::max<std::size_t>(*tokens, 1);
  HEADWISE_ASSIGN(auto cache, KvCache::create(options));
  CachedSequences made{std::move(cache)};
  for (std::size_t b = 0; b < shape.B; ++b) {
    HEADWISE_ASSIGN(const auto id, made.cache.add());
    made.ids.push_back(id);
  }
  return made;
}

Result<CachedRun> CachedRun::create(const RunFlags& flags,
                                    const OperationInputs& inputs,
                                    const AttentionOptions& options,
                                    const AttentionShape& shape) {
  HEADWISE_TRY(check_positions(options, shape));
  HEADWISE_TRY(check_chunk(flags, inputs, options.scores));
  return CachedRun(flags, inputs, options, shape);
}

Status CachedRun::run(const Attend& attend, RunResult& result,
                      const TensorView<float, 4>& output) const {
  const std::size_t most = flags_.cache.chunk.value_or(shape_.Lq);
  for (std::size_t first = 0; shape_.B != 0 && first < shape_.Lq;) {
    const Chunk chunk(shape_, first, most);
    CallPart part(first, chunk.longest, chunk.lengths);
    AttentionOptions options = inputs_.options(part);
    options.attn_weights = options_.attn_weights;
    options.scores = options_.scores;
    HEADWISE_ASSIGN(const auto outputs, attend(chunk, options));
    outputs.copy_to(result, output, chunk);
    first += chunk.longest;
  }
  return ok();
}

Result<RunResult> cached_result(const AttentionOptions& options,
                                const AttentionShape& shape) {
  const auto pairs = [&](std::size_t heads) {
    return Tensor<float, 4>::create(
        heads == 0 ? Extents<4>{}
                   : Extents<4>{shape.B, heads, shape.Lq, shape.Lkv});
  };
  HEADWISE_ASSIGN(auto attn_weights, pairs(weight_heads(options, shape.Hq)));
  HEADWISE_ASSIGN(auto scores, pairs(score_heads(options, shape.Hq)));
  HEADWISE_ASSIGN(auto lse, Tensor<float, 3>::create({shape.batches(), shape.Hq,
                                                      shape.query_rows()}));
  if (options.scores == ScoresStage::bias) {
    std::ranges::fill(scores.elements(),
                      -std::numeric_limits<float>::infinity());
  }
  return RunResult{.output_by_heads = {},
                   .output = {},
                   .attn_weights = std::move(attn_weights),
                   .lse = std::move(lse),
                   .scores = std::move(scores)};
}

}  // namespace headwise::cli
