#include "module/cached_heads.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "headwise/decode/decode_plan.h"
#include "module/layer_call.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Status check_cached_call(const LayerCall& call) {
  if (call.for_backward || call.trace != nullptr) {
    return value_error(
        kLayerOperation, "cache", "given",
        call.for_backward ? "none in training" : "none with a trace");
  }
  const Extents<3>& query = call.inputs.query.extents();
  const Extents<3>& key = call.inputs.key.extents();
  return check_shape(kLayerOperation, "key", key, "(B, Lq, kdim)",
                     {{query[0], query[1], key[2]}});
}

// The longest sequence once the tokens are appended.
Result<std::size_t> longest_length(const LayerCall& call,
                                   const AttentionShape& shape) {
  std::size_t most = 0;
  for (std::size_t b = 0; b < shape.B; ++b) {
    HEADWISE_ASSIGN(const auto length, call.layer_options.cache->length(
                                           call.layer_options.sequences[b]));
    most = std::max(most, length + shape.sequence(b).Lq);
  }
  return most;
}

}  // namespace

Result<AttentionShape> shape_of_new_tokens(const LayerState& layer,
                                           const LayerCall& call) {
  HEADWISE_TRY(check_cached_call(call));
  const MultiHeadAttentionConfig& config = layer.config;
  const auto [B, L, query_dim] = call.inputs.query.extents();
  AttentionShape shape{.B = B,
                       .Hq = config.num_heads,
                       .Hkv = *config.num_kv_heads,
                       .Lq = L,
                       .Lkv = L,
                       .D = *config.head_dim,
                       .Dv = *config.v_head_dim,
                       .kv_groups = layer.kv_groups};
  const Offsets& offsets = call.options.offsets;
  if (offsets.ragged()) {
    HEADWISE_TRY(offsets.check(L, L, kLayerOperation));
    shape.B = offsets.sequences();
    shape.Lq = shape.Lkv = longest(offsets.query);
    shape.offsets = Offsets(offsets.query);
  }
  HEADWISE_TRY(check_shape(kLayerOperation, "sequences",
                           {{call.layer_options.sequences.size()}}, "(B)",
                           {{shape.B}}));
  return shape;
}

Result<std::vector<std::int64_t>> positions_of_new_tokens(
    const LayerCall& call, const AttentionShape& shape) {
  std::vector<std::int64_t> positions;
  for (std::size_t b = 0; b < shape.B; ++b) {
    HEADWISE_ASSIGN(const auto length, call.layer_options.cache->length(
                                           call.layer_options.sequences[b]));
    for (std::size_t i = 0; i < shape.sequence(b).Lq; ++i) {
      positions.push_back(static_cast<std::int64_t>(length + i));
    }
  }
  return positions;
}

Result<Attended> attend_to_cache(const LayerState& layer, const LayerCall& call,
                                 const AttentionOptions& options,
                                 const AttentionShape& shape,
                                 const SplitHeads& heads, LayerMemory& memory) {
  HEADWISE_ASSIGN(const auto longest, longest_length(call, shape));
  const std::size_t B = shape.batches();
  const std::size_t L = shape.query_rows();
  const bool weights = options.attn_weights != AttnWeights::none;
  const bool lse = !call.output_only();
  auto merged = Tensor<float, 3>::create_unset_in(std::move(memory.merged),
                                                  {B, L, shape.Hq * shape.Dv});
  const Extents<4> pairs = {shape.B, shape.Hq, shape.Lq, longest};
  Extents<4> of_weights = weights ? pairs : Extents<4>{};
  if (options.attn_weights == AttnWeights::mean) {
    of_weights[1] = 1;
  }
  auto attn_weights = Tensor<float, 4>::create_unset(of_weights);
  auto scores = Tensor<float, 4>::create_unset(
      options.scores != ScoresStage::none ? pairs : Extents<4>{});
  auto sums = Tensor<float, 3>::create_unset({B, shape.Hq, lse ? L : 0});
  HEADWISE_TRY(merged);
  HEADWISE_TRY(attn_weights);
  HEADWISE_TRY(scores);
  HEADWISE_TRY(sums);
  AttentionOptions of_plan = options;
  of_plan.offsets = {};
  OperationOptions operation = operation_options_of(layer);
  operation.statistics.rows = call.layer_options.statistics.data() != nullptr;
  HEADWISE_ASSIGN(
      const auto plan,
      DecodePlan::create(*call.layer_options.cache, shape.Hq,
                         std::max<std::size_t>(B * L, 1), of_plan, operation));
  HEADWISE_ASSIGN(auto workspace, Workspace::create(plan.workspace_bytes()));
  const TensorView<float, 4> context(merged->data(),
                                     {B, L, shape.Hq, shape.Dv});
  HEADWISE_TRY(plan.run(
      call.layer_options.sequences, heads.query, heads.key, heads.value,
      {.output = context,
       .attn_weights = weights ? attn_weights->view() : TensorView<float, 4>(),
       .lse = lse ? sums->view() : TensorView<float, 3>(),
       .statistics = {.rows = call.layer_options.statistics},
       .scores = scores->view()},
      workspace,
      shape.offsets.ragged() ? shape.offsets.query
                             : TensorView<const std::int64_t, 1>()));
  return Attended{*std::move(merged),
                  *std::move(attn_weights),
                  *std::move(sums),
                  {},
                  *std::move(scores)};
}

}  // namespace headwise::inline HEADWISE_ABI
