#include "module/layer_moves.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/memory_overlap.h"
#include "headwise/steps/heads.h"
#include "steps/project.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Result<Projected> make_projected(const MultiHeadAttentionParams& params,
                                 const AttentionShape& shape,
                                 Projected memory) {
  const auto make = [&](std::size_t length, std::size_t features,
                        Tensor<float, 3>& in) {
    return Tensor<float, 3>::create_unset_in(
        std::move(in), {shape.batches(), length, features});
  };
  HEADWISE_ASSIGN(auto q, make(shape.query_rows(), params.w_q.out_features(),
                               memory.query));
  HEADWISE_ASSIGN(
      auto k, make(shape.key_rows(), params.w_k.out_features(), memory.key));
  HEADWISE_ASSIGN(
      auto v, make(shape.key_rows(),
                   params.w_v ? params.w_v->out_features() : 0, memory.value));
  return Projected{std::move(q), std::move(k), std::move(v)};
}

// Scores before the mask are computed of every key.
bool reads_masked_keys(const AttentionSpec& spec) {
  return spec.scores == ScoresStage::raw || spec.scores == ScoresStage::softcap;
}

}  // namespace

std::vector<std::size_t> read_ends(const AttentionSpec& spec) {
  std::vector<std::size_t> ends;
  if (spec.mask.allows_all() || spec.empty_rows == EmptyRow::uniform ||
      reads_masked_keys(spec) || spec.shape.offsets.ragged() ||
      spec.shape.Lq == 0 || spec.shape.Lkv == 0) {
    return ends;
  }
  for (std::size_t b = 0; b < spec.shape.B; ++b) {
    ends.push_back(spec.mask.visible_end(b, 0, spec.shape.Lq));
  }
  const bool all = std::ranges::all_of(
      ends, [&](std::size_t end) { return end == spec.shape.Lkv; });
  return all ? std::vector<std::size_t>{} : ends;
}

Result<Projected> project_inputs(const MultiHeadAttentionParams& params,
                                 const LayerInputs& inputs,
                                 const AttentionShape& shape,
                                 std::span<const std::size_t> ends,
                                 const Executor& executor, Projected memory) {
  HEADWISE_ASSIGN(auto projected,
                  make_projected(params, shape, std::move(memory)));
  // Without a w_v the last projection is left out.
  const std::array all = {
      Projection{&params.w_q, projected.query},
      Projection{&params.w_k, projected.key},
      Projection{params.w_v ? &*params.w_v : nullptr, projected.value}};
  const auto some = std::span(all).first(params.w_v ? 3 : 2);
  const bool one_memory = !params.w_v || is_same_view(inputs.key, inputs.value);
  if (one_memory && ends.empty() && is_same_view(inputs.query, inputs.key)) {
    HEADWISE_TRY(project(inputs.query, some, {}, executor));
    return projected;
  }
  HEADWISE_TRY(project(inputs.query, some.first(1), {}, executor));
  if (one_memory) {
    HEADWISE_TRY(project(inputs.key, some.subspan(1), ends, executor));
    return projected;
  }
  HEADWISE_TRY(project(inputs.key, some.subspan(1, 1), ends, executor));
  HEADWISE_TRY(project(inputs.value, some.subspan(2), ends, executor));
  return projected;
}

Result<SplitHeads> split(const Projected& projected,
                         TensorView<const float, 3> value,
                         const AttentionShape& shape) {
  HEADWISE_ASSIGN(const auto q, split_heads(projected.query, shape.Hq));
  HEADWISE_ASSIGN(const auto k, split_heads(projected.key, shape.Hkv));
  HEADWISE_ASSIGN(const auto v, split_heads(value, shape.Hkv));
  return SplitHeads{q, k, v};
}

Result<Attended> attend(const PlannedCall& plan, const SplitHeads& heads,
                        const OfEachRow& wanted, LayerMemory& memory) {
  const AttentionShape& shape = plan.spec().shape;
  const std::size_t B = shape.batches();
  const std::size_t Lq = shape.query_rows();
  auto merged = Tensor<float, 3>::create_unset_in(std::move(memory.merged),
                                                  {B, Lq, shape.Hq * shape.Dv});
  const auto pairs = [&](CallTensor tensor) {
    return Tensor<float, 4>::create_unset(
        expected_tensor(plan.spec(), tensor).extents4());
  };
  auto attn_weights = pairs(CallTensor::attn_weights);
  auto lse = Tensor<float, 3>::create_unset({B, shape.Hq, wanted.lse ? Lq : 0});
  auto rows = Tensor<float, 4>::create_unset(
      {B, shape.Hq, Lq, wanted.softmax_rows ? std::size_t{2} : 0});
  auto scores = pairs(CallTensor::scores);
  HEADWISE_TRY(merged);
  HEADWISE_TRY(attn_weights);
  HEADWISE_TRY(lse);
  HEADWISE_TRY(rows);
  HEADWISE_TRY(scores);
  if (!memory.workspace || memory.workspace->bytes() < plan.workspace_bytes()) {
    memory.workspace.reset();
    HEADWISE_ASSIGN(memory.workspace,
                    Workspace::create(plan.workspace_bytes()));
  }
  // The context has the heads of a token side by side: merged already.
  const TensorView<float, 4> context(merged->data(),
                                     {B, Lq, shape.Hq, shape.Dv});
  const AttentionOutputs outputs{
      .output = context,
      .attn_weights = *attn_weights,
      .lse = wanted.lse ? *lse : TensorView<float, 3>(),
      .softmax_rows = wanted.softmax_rows ? *rows : TensorView<float, 4>(),
      .scores = *scores};
  HEADWISE_TRY(plan.run(
      CallTensors(AttentionInputsOf<float>{heads.query, heads.key, heads.value},
                  outputs),
      *memory.workspace));
  return Attended{*std::move(merged), *std::move(attn_weights), *std::move(lse),
                  *std::move(rows), *std::move(scores)};
}

}  // namespace headwise::inline HEADWISE_ABI
