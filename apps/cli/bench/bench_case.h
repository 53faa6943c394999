// One workload with its tensors, ready to be run again and again.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bench_cache.h"
#include "bench_workload.h"
#include "headwise/attention/plan.h"
#include "headwise/attention/statistics.h"
#include "headwise/base/half.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/executor.h"

namespace headwise::cli {

// Query, key, value and output of a workload in bfloat16, (B, H, L, D).
struct Bfloat16Tensors {
  Tensor<BFloat16, 4> query{};
  Tensor<BFloat16, 4> key{};
  Tensor<BFloat16, 4> value{};
  Tensor<BFloat16, 4> output{};
};

// What the workload reads: query, key and value of attention, or x and the
// layer.
struct BenchInputs {
  Tensor<float, 4> query{};     // (B, Hq, Lq, D)
  Tensor<float, 4> key{};       // (B, Hkv, Lkv, D)
  Tensor<float, 4> value{};     // (B, Hkv, Lkv, Dv)
  Tensor<float, 4> bias{};      // (1, Hq, Lq, Lkv)
  Tensor<float, 4> d_output{};  // (B, Hq, Lq, Dv), of a backward pass
  Tensor<float, 3> x{};         // (B, L, E)
  std::optional<MultiHeadAttention> layer{};
};

// The shapes of a workload's tensors.
inline Extents<4> query_extents(const Workload& of) {
  return {of.shape.B, of.shape.Hq, of.shape.Lq, of.shape.D};
}
inline Extents<4> key_extents(const Workload& of) {
  return {of.shape.B, of.shape.Hkv, of.shape.Lkv, of.shape.D};
}
inline Extents<4> value_extents(const Workload& of) {
  return {of.shape.B, of.shape.Hkv, of.shape.Lkv, of.shape.Dv};
}
inline Extents<4> bias_extents(const Workload& of) {
  return {1, of.shape.Hq, of.shape.Lq, of.shape.Lkv};
}
inline Extents<4> output_extents(const Workload& of) {
  return {of.shape.B, of.shape.Hq, of.shape.Lq, of.shape.Dv};
}
inline Extents<3> layer_extents(const Workload& of) {
  return {of.shape.B, of.shape.Lq, of.embed_dim};
}

// Normal numbers with mean 0 and deviation 1; the layer's parameters as
// nn.Linear draws them. Always the same. Errors: out_of_memory.
Result<BenchInputs> draw_inputs(const Workload& workload);

// A ragged workload's sequences without their padding.
struct RaggedTensors {
  std::vector<std::int64_t> offsets{};
  Tensor<float, 4> query{};   // (1, rows, Hq, D)
  Tensor<float, 4> key{};     // (1, rows, Hkv, D)
  Tensor<float, 4> value{};   // (1, rows, Hkv, Dv)
  Tensor<float, 4> output{};  // (1, rows, Hq, Dv)
};

// What a backward workload needs and gives beside its output, (B, H, L, D).
struct BackwardTensors {
  Tensor<float, 4> softmax_rows{};
  Tensor<float, 4> d_query{};
  Tensor<float, 4> d_key{};
  Tensor<float, 4> d_value{};
};

// Takes the sequences out of the padded tensors, which are given back. Errors:
// out_of_memory.
Result<RaggedTensors> without_padding(BenchInputs& inputs,
                                      const std::vector<std::int64_t>& lengths);

// The options of the workload's call; `ragged` is that of a ragged workload.
AttentionOptions options_of(const Workload& workload, const BenchInputs& inputs,
                            const RaggedTensors& ragged);

class BenchCase {
 public:
  // The executor must outlive the case. Errors: those of AttentionPlan::create;
  // out_of_memory.
  static Result<BenchCase> create(Workload workload, BenchInputs inputs,
                                  const Executor& executor);

  // Errors: those of AttentionPlan::run and MultiHeadAttention::forward.
  Status run();

  // Of the last run: "out" (B, Hq, Lq, Dv), of the layer (B, L, E); "weights"
  // (B, Hq, Lq, Lkv) where the workload returns them; "dq", "dk", "dv" of a
  // backward pass. A ragged workload's is padded again, with zeros.
  struct Output {
    std::string_view name;
    std::span<const float> elements;
  };
  std::vector<Output> outputs();

 private:
  BenchCase(Workload workload, BenchInputs inputs)
      : workload_(std::move(workload)), inputs_(std::move(inputs)) {}

  AttentionOptions options(const Executor& executor) const {
    AttentionOptions options = options_of(workload_, inputs_, ragged_);
    options.executor = &executor;
    return options;
  }
  Status make_cache();
  Status make_backward();
  Status make_bfloat16();
  Status run_backward();

  Workload workload_;
  BenchInputs inputs_;
  // Written where it is told; the layer returns attention weights.
  std::optional<AttentionPlan> plan_;
  const Executor* executor_ = nullptr;
  std::optional<Workspace> workspace_;
  std::optional<BenchCache> cache_;
  Tensor<float, 4> output_;  // (B, Hq, Lq, Dv)
  Bfloat16Tensors bfloat16_;
  RaggedTensors ragged_;
  BackwardTensors backward_;
  Tensor<float, 4> attn_weights_;
  AttentionStatistics statistics_;
  MultiHeadAttentionResult<3> layer_result_;
};

}  // namespace headwise::cli
