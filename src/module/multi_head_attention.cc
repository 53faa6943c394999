#include "headwise/module/multi_head_attention.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/attention/stepwise.h"
#include "headwise/steps/head_gates.h"
#include "headwise/steps/heads.h"
#include "module/check_config.h"
#include "module/layer_moves.h"
#include "module/layer_run.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOperation = "multi_head_attention";

// The random streams of the parameters (the embedding's is 0).
enum ParamStream : std::uint32_t {
  kWq = 1,
  kWk = 2,
  kWv = 3,
  kWo = 4,
  kWScore = 5
};

// Tells what was saved of other parameters from what was saved of these.
std::uint64_t new_params_id() {
  static std::atomic<std::uint64_t> last_id = 0;
  return ++last_id;
}

bool is_open(const MultiHeadAttentionConfig& config) {
  return config.query_dim == kFromFirstCall || config.kdim == kFromFirstCall ||
         config.vdim == kFromFirstCall;
}

Status check_inputs(const MultiHeadAttentionConfig& config,
                    TensorView<const float, 3> query,
                    TensorView<const float, 3> key,
                    TensorView<const float, 3> value) {
  const auto [B, Lq, query_dim] = query.extents();
  const std::size_t Lkv = key.extent(1);
  HEADWISE_TRY(check_shape(kOperation, "query", query.extents(),
                           "(B, Lq, query_dim)", {{B, Lq, *config.query_dim}}));
  HEADWISE_TRY(check_shape(kOperation, "key", key.extents(), "(B, Lkv, kdim)",
                           {{B, Lkv, *config.kdim}}));
  return check_shape(kOperation, "value", value.extents(), "(B, Lkv, vdim)",
                     {{B, Lkv, *config.vdim}});
}

// A linear map of the hidden layer to one score.
Result<Tensor<float, 2>> draw_score_weight(std::size_t num_heads,
                                           std::size_t head_dim,
                                           const RandomStream& random) {
  auto weight = Tensor<float, 2>::create({num_heads, head_dim});
  if (weight) {
    const double bound = 1 / std::sqrt(static_cast<double>(head_dim));
    random.fill_uniform(weight->elements(), -bound, bound);
  }
  return weight;
}

void tell(TraceSink& trace, std::string_view name,
          std::vector<std::string_view> axes, const AnyView& tensor) {
  trace.on_step(name, axes, tensor);
}

// Empty where the groups are even.
std::vector<std::int64_t> group_offsets(const std::vector<std::size_t>& sizes) {
  std::vector<std::int64_t> offsets(sizes.empty() ? 0 : 1);
  for (const std::size_t size : sizes) {
    offsets.push_back(offsets.back() + static_cast<std::int64_t>(size));
  }
  return offsets;
}

// What the layer asks of the operation.
Result<AttentionOptions> with_own(AttentionOptions options,
                                  const MultiHeadAttentionConfig& config,
                                  const MultiHeadAttentionParams& params,
                                  std::span<const std::int64_t> kv_groups) {
  if (options.score_weight.data() != nullptr) {
    return value_error(kOperation, "score_weight", "given",
                       "none: a layer's own is w_score");
  }
  if (options.kv_groups.data() != nullptr) {
    return value_error(kOperation, "kv_groups", "given",
                       "none: a layer's own are its kv_group_sizes");
  }
  if (options.statistics.any()) {
    return value_error(kOperation, "statistics", "asked for",
                       "none: attention_statistics() gives them");
  }
  if (options.head_gates.data() != nullptr) {
    HEADWISE_TRY(
        check_head_gates(kOperation, options.head_gates, config.num_heads));
  }
  options.head_gates = {};
  if (params.w_score) {
    options.score_weight = params.w_score->view();
  }
  if (!kv_groups.empty()) {
    options.kv_groups = {kv_groups.data(), {kv_groups.size()}};
  }
  options.dropout.p = options.dropout.p.value_or(config.dropout);
  return options;
}

// Whether there are gates that change something.
bool do_gate(TensorView<const float, 1> gates) {
  for (std::size_t h = 0; h < gates.extent(0); ++h) {
    if (gates(h) != 1) {
      return true;
    }
  }
  return false;
}

// What the gates let through of the heads: in new memory where what they gave
// is still needed.
Result<Tensor<float, 3>> gate(Tensor<float, 3>& merged,
                              TensorView<const float, 1> gates, bool keep,
                              const Executor& executor, TraceSink* trace) {
  auto gated = keep ? Tensor<float, 3>::create_unset(merged.extents())
                    : Result<Tensor<float, 3>>(std::exchange(merged, {}));
  if (!gated) {
    return gated;
  }
  const std::size_t heads = gates.extent(0);
  const auto from = std::as_const(keep ? merged : *gated).view();
  const auto to = in_heads(gated->view(), heads);
  HEADWISE_TRY(gate_heads(in_heads(from, heads), gates, to, executor));
  if (trace != nullptr) {
    const TensorView<const float, 4> shown(to.data(), to.extents(),
                                           to.strides());
    tell(*trace, "gated", {"B", "H", "Lq", "Dv"}, as_bhld(shown));
  }
  return gated;
}

void tell_projected(TraceSink& trace, const Projected& projected,
                    TensorView<const float, 3> value, const SplitHeads& heads) {
  const bool grouped = heads.key.extent(2) != heads.query.extent(2);
  const std::string_view kv = grouped ? "Hkv" : "H";
  tell(trace, "q", {"B", "Lq", "H*D"}, projected.query.view());
  tell(trace, "k", {"B", "Lkv", grouped ? "Hkv*D" : "H*D"},
       projected.key.view());
  tell(trace, "v", {"B", "Lkv", grouped ? "Hkv*Dv" : "H*Dv"}, value);
  tell(trace, "q_heads", {"B", "H", "Lq", "D"}, as_bhld(heads.query));
  tell(trace, "k_heads", {"B", kv, "Lkv", "D"}, as_bhld(heads.key));
  tell(trace, "v_heads", {"B", kv, "Lkv", "Dv"}, as_bhld(heads.value));
}

// Tells the projections and the steps of the operation, which are computed
// beside the result, so that being watched changes no bit of it.
Status tell_steps(TraceSink* trace, const Projected& projected,
                  TensorView<const float, 3> value, const SplitHeads& heads,
                  const AttentionOptions& options) {
  if (trace == nullptr) {
    return ok();
  }
  tell_projected(*trace, projected, value, heads);
  const auto steps =
      stepwise_attention(heads.query, heads.key, heads.value, options, trace);
  return steps ? ok() : Status(steps.error());
}

// The output of the merged heads: they themselves without a w_o.
Result<Tensor<float, 3>> output_of(const std::optional<Linear>& w_o,
                                   Tensor<float, 3>& merged,
                                   const Executor& executor, TraceSink* trace) {
  if (trace != nullptr) {
    tell(*trace, "merged", {"B", "Lq", "H*Dv"}, std::as_const(merged).view());
  }
  auto output =
      w_o ? w_o->forward(std::as_const(merged).view(), "merged", executor)
          : Result<Tensor<float, 3>>(std::exchange(merged, {}));
  if (trace != nullptr && output) {
    tell(*trace, "output", {"B", "Lq", w_o ? "E" : "H*Dv"},
         std::as_const(*output).view());
  }
  return output;
}

// The same into memory of the caller's; the tensor is empty.
Result<Tensor<float, 3>> write_output(const std::optional<Linear>& w_o,
                                      const Tensor<float, 3>& merged,
                                      TensorView<float, 3> output,
                                      const Executor& executor) {
  if (w_o) {
    HEADWISE_TRY(w_o->forward_into(merged.view(), output, "merged", executor));
    return Tensor<float, 3>();
  }
  const auto [B, L, features] = merged.extents();
  for (std::size_t b = 0; merged.size() != 0 && b < B; ++b) {
    for (std::size_t l = 0; l < L; ++l) {
      std::copy_n(&merged(b, l, 0), features, &output(b, l, 0));
    }
  }
  return Tensor<float, 3>();
}

// The extents of the attention weights of a layer without heads.
Result<Extents<4>> no_attn_weights(const LayerInputs& inputs,
                                   const AttentionOptions& options) {
  const std::size_t Lq = inputs.query.extent(1);
  const std::size_t Lkv = inputs.key.extent(1);
  const Offsets& offsets = options.offsets;
  if (offsets.ragged()) {
    HEADWISE_TRY(offsets.check(Lq, Lkv, kOperation));
  }
  if (options.attn_weights == AttnWeights::none) {
    return Extents<4>{};
  }
  if (options.attn_weights == AttnWeights::mean) {
    return value_error(kOperation, "attn_weights", "mean",
                       "per_head in a layer without heads");
  }
  return offsets.ragged()
             ? Extents<4>{offsets.sequences(), 0, longest(offsets.query),
                          longest(offsets.key)}
             : Extents<4>{inputs.query.extent(0), 0, Lq, Lkv};
}

Status check_output(const MultiHeadAttentionConfig& config,
                    const Extents<3>& query, TensorView<float, 3> output,
                    const AttentionOptions& options) {
  if (options.attn_weights != AttnWeights::none) {
    return value_error(kOperation, "attn_weights", "asked for",
                       "none: forward() returns them");
  }
  const auto [B, Lq, query_dim] = query;
  HEADWISE_TRY(check_shape(kOperation, "output", output.extents(),
                           "(B, Lq, embed_dim)", {{B, Lq, config.embed_dim}}));
  if (output.stride(2) != 1) {
    return value_error(kOperation, "output", "strided",
                       "features side by side");
  }
  return ok();
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionConfig& config,
                                       Seed seed)
    : config_(config),
      kv_groups_(group_offsets(config.kv_group_sizes)),
      seed_(seed),
      memory_(std::make_shared<MemoryShelf>()) {}

Result<MultiHeadAttention> MultiHeadAttention::create(
    const MultiHeadAttentionConfig& config, Seed seed) try {
  auto filled = complete_config(config);
  HEADWISE_TRY(filled);
  MultiHeadAttention layer(*filled, seed);
  if (!is_open(*filled)) {
    HEADWISE_TRY(layer.draw_params());
  }
  return layer;
} catch (...) {
  return caught_out_of_memory();
}

Result<MultiHeadAttention> MultiHeadAttention::from_params(
    MultiHeadAttentionParams params, std::size_t num_heads,
    std::optional<std::size_t> num_kv_heads,
    std::optional<std::size_t> vdim) try {
  return from_params(
      std::move(params),
      {.num_heads = num_heads, .num_kv_heads = num_kv_heads, .vdim = vdim});
} catch (...) {
  return caught_out_of_memory();
}

Result<MultiHeadAttention> MultiHeadAttention::from_params(
    MultiHeadAttentionParams params, HeadCounts heads) try {
  const std::size_t num_heads = heads.num_heads;
  const std::size_t kv_heads = kv_heads_of(heads);
  const auto v_head_dim = check_params(params, heads);
  HEADWISE_TRY(v_head_dim);
  MultiHeadAttentionConfig config{
      .embed_dim =
          params.w_o ? params.w_o->out_features() : num_heads * *v_head_dim,
      .num_heads = num_heads,
      .num_kv_heads = kv_heads,
      .kv_group_sizes = std::move(heads.kv_group_sizes),
      .dropout = heads.dropout,
      .bias = params.w_q.has_bias(),
      .query_dim = params.w_q.in_features(),
      .kdim = params.w_k.in_features(),
      .vdim = params.w_v ? params.w_v->in_features() : kv_heads * *v_head_dim,
      .head_dim = num_heads == 0 ? 0 : params.w_q.out_features() / num_heads,
      .v_head_dim = *v_head_dim,
      .out_proj = params.w_o.has_value(),
      .value_proj = params.w_v.has_value(),
      .scoring = params.w_score ? Scoring::additive : Scoring::dot};
  MultiHeadAttention layer(config, Seed{});
  layer.set_params(std::move(params));
  return layer;
} catch (...) {
  return caught_out_of_memory();
}

Status MultiHeadAttention::draw_params() {
  const std::size_t num_heads = config_.num_heads;
  const std::size_t num_kv_heads = *config_.num_kv_heads;
  const auto draw = [&](std::size_t in, std::size_t out, ParamStream stream) {
    return Linear::create({in, out, config_.bias}, RandomStream(seed_, stream));
  };
  auto w_q = draw(*config_.query_dim, num_heads * *config_.head_dim, kWq);
  auto w_k = draw(*config_.kdim, num_kv_heads * *config_.head_dim, kWk);
  if (!w_q || !w_k) {
    return w_q ? w_k.error() : w_q.error();
  }
  MultiHeadAttentionParams params{*std::move(w_q), *std::move(w_k)};
  if (config_.value_proj) {
    auto w_v = draw(*config_.vdim, num_kv_heads * *config_.v_head_dim, kWv);
    HEADWISE_TRY(w_v);
    params.w_v = *std::move(w_v);
  }
  if (config_.out_proj) {
    auto w_o = draw(num_heads * *config_.v_head_dim, config_.embed_dim, kWo);
    HEADWISE_TRY(w_o);
    params.w_o = *std::move(w_o);
  }
  if (config_.scoring == Scoring::additive) {
    auto w_score = draw_score_weight(num_heads, *config_.head_dim,
                                     RandomStream(seed_, kWScore));
    HEADWISE_TRY(w_score);
    params.w_score = *std::move(w_score);
  }
  set_params(std::move(params));
  return ok();
}

void MultiHeadAttention::set_params(MultiHeadAttentionParams params) {
  params_ = std::move(params);
  params_id_ = new_params_id();
}

void MultiHeadAttention::update(
    FunctionRef<void(std::string_view, std::span<float>)> change) {
  if (!params_) {
    return;
  }
  params_id_ = new_params_id();  // first: `change` may throw
  MultiHeadAttentionParams& params = *params_;
  const auto show = [&](Linear& linear, const std::string& name) {
    linear.update([&](std::span<float> weight, std::span<float> bias) {
      change(name + ".weight", weight);
      if (!bias.empty()) {
        change(name + ".bias", bias);
      }
    });
  };
  show(params.w_q, "w_q");
  show(params.w_k, "w_k");
  if (params.w_v) {
    show(*params.w_v, "w_v");
  }
  if (params.w_o) {
    show(*params.w_o, "w_o");
  }
  if (params.w_score) {
    change("w_score.weight", params.w_score->elements());
  }
}

Result<MultiHeadAttentionResult<3>> MultiHeadAttention::forward(
    TensorView<const float, 3> query, TensorView<const float, 3> key,
    TensorView<const float, 3> value, const AttentionOptions& options,
    TraceSink* trace) try {
  if (params_) {
    return std::as_const(*this).forward(query, key, value, options, trace);
  }
  const auto fix = [](std::optional<std::size_t>& dim, std::size_t given) {
    if (dim == kFromFirstCall) {
      dim = given;
    }
  };
  // A call that fails fixes nothing.
  struct Reopening {
    MultiHeadAttention& layer;
    MultiHeadAttentionConfig open;
    bool failed = true;
    ~Reopening() {
      if (failed) {
        layer.config_ = std::move(open);
        layer.params_.reset();
      }
    }
  };
  Reopening reopening{*this, config_};
  fix(config_.query_dim, query.extent(2));
  fix(config_.kdim, key.extent(2));
  fix(config_.vdim, value.extent(2));
  HEADWISE_TRY(check_inputs(config_, query, key, value));
  HEADWISE_TRY(draw_params());
  auto result = std::as_const(*this).forward(query, key, value, options, trace);
  reopening.failed = !result;
  return result;
} catch (...) {
  return caught_out_of_memory();
}

// All heads were pruned: nobody attends, and the bias is the output.
Result<MultiHeadAttention::Run> MultiHeadAttention::run_without_heads(
    const LayerInputs& inputs, const AttentionOptions& options,
    const RunFor& purpose) const {
  const std::size_t batches = inputs.query.extent(0);
  const std::size_t rows = inputs.query.extent(1);
  auto extents = no_attn_weights(inputs, options);
  HEADWISE_TRY(extents);
  const Executor& executor =
      options.executor ? *options.executor : Executor::default_executor();
  auto merged = Tensor<float, 3>::create({batches, rows, 0});
  auto lse = Tensor<float, 3>::create({batches, 0, rows});
  auto attn_weights = Tensor<float, 4>::create(*extents);
  if (!merged || !lse || !attn_weights) {
    return !merged ? merged.error() : !lse ? lse.error() : attn_weights.error();
  }
  auto output =
      purpose.output_alone()
          ? write_output(params_->w_o, *merged, purpose.output, executor)
          : output_of(params_->w_o, *merged, executor, purpose.trace);
  HEADWISE_TRY(output);
  return Run{.options = options,
             .head_gates = {},
             .projected = {},
             .merged = *std::move(merged),
             .ungated = {},
             .softmax_rows = {},
             .result = {*std::move(output), *std::move(attn_weights),
                        *std::move(lse)}};
}

Result<MultiHeadAttention::Run> MultiHeadAttention::run(
    TensorView<const float, 3> query, TensorView<const float, 3> key,
    TensorView<const float, 3> value, const AttentionOptions& options,
    const RunFor& purpose) const {
  if (!params_) {
    return Error{
        ErrorCode::invalid_argument,
        ErrorDetails{
            .operation = std::string(kOperation),
            .given = "an input size is kFromFirstCall and the layer is const",
            .expected = "a first call on a layer that may change"}};
  }
  HEADWISE_TRY(check_inputs(config_, query, key, value));
  auto own_options = with_own(options, config_, *params_, kv_groups_);
  HEADWISE_TRY(own_options);
  const Executor& executor =
      options.executor ? *options.executor : Executor::default_executor();
  const LayerInputs inputs{query, key, value};
  if (config_.num_heads == 0) {
    return run_without_heads(inputs, *own_options, purpose);
  }
  const auto plan = plan_of(config_, inputs, *own_options);
  HEADWISE_TRY(plan);
  const AttentionShape& shape = plan->spec().shape;
  // The trace is shown whole tensors.
  const std::vector<std::size_t> ends = purpose.trace == nullptr
                                            ? read_ends(plan->spec())
                                            : std::vector<std::size_t>{};
  LayerMemory memory = memory_->take();
  auto projected = project_inputs(*params_, inputs, shape, ends, executor,
                                  std::move(memory.projected));
  HEADWISE_TRY(projected);
  const TensorView<const float, 3> values =
      params_->w_v ? std::as_const(projected->value).view() : value;
  const auto heads = split(*projected, values, shape);
  HEADWISE_TRY(heads);
  HEADWISE_TRY(
      tell_steps(purpose.trace, *projected, values, *heads, *own_options));
  auto attended =
      attend(*plan, *heads,
             {.lse = !purpose.output_alone(), .softmax_rows = purpose.backward},
             memory);
  HEADWISE_TRY(attended);
  Tensor<float, 3> merged = std::move(attended->merged);
  Tensor<float, 3> ungated;
  if (do_gate(options.head_gates)) {
    auto gated = gate(merged, options.head_gates, purpose.backward, executor,
                      purpose.trace);
    HEADWISE_TRY(gated);
    ungated = std::exchange(merged, *std::move(gated));
  }
  auto output =
      purpose.output_alone()
          ? write_output(params_->w_o, merged, purpose.output, executor)
          : output_of(params_->w_o, merged, executor, purpose.trace);
  HEADWISE_TRY(output);
  MultiHeadAttentionResult<3> result{*std::move(output),
                                     std::move(attended->attn_weights),
                                     std::move(attended->lse)};
  if (!purpose.backward) {
    memory.projected = *std::move(projected);
    memory.merged = std::move(merged);
    memory_->give(std::move(memory));
    return Run{.result = std::move(result)};
  }
  return Run{*std::move(own_options), options.head_gates,
             *std::move(projected),   std::move(merged),
             std::move(ungated),      std::move(attended->softmax_rows),
             std::move(result)};
}

Result<MultiHeadAttentionResult<3>> MultiHeadAttention::forward(
    TensorView<const float, 3> query, TensorView<const float, 3> key,
    TensorView<const float, 3> value, const AttentionOptions& options,
    TraceSink* trace) const try {
  auto done = run(query, key, value, options, {.trace = trace});
  HEADWISE_TRY(done);
  return std::move(done->result);
} catch (...) {
  return caught_out_of_memory();
}

Status MultiHeadAttention::forward_into(TensorView<const float, 3> query,
                                        TensorView<const float, 3> key,
                                        TensorView<const float, 3> value,
                                        TensorView<float, 3> output,
                                        const AttentionOptions& options) const
    try {
  HEADWISE_TRY(check_output(config_, query.extents(), output, options));
  const auto done = run(query, key, value, options, {.output = output});
  return done ? ok() : Status(done.error());
} catch (...) {
  return caught_out_of_memory();
}

Result<MultiHeadAttentionResult<2>> MultiHeadAttention::forward(
    TensorView<const float, 2> query, TensorView<const float, 2> key,
    TensorView<const float, 2> value, const AttentionOptions& options,
    TraceSink* trace) try {
  if (options.offsets.ragged() && options.attn_weights != AttnWeights::none) {
    return argument_error(
        kOperation, "attn_weights", "have an axis B in a ragged batch",
        "query, key and value of shape (1, rows, E)", ErrorCode::unsupported);
  }
  auto batched = forward(as_batch_of_one(query), as_batch_of_one(key),
                         as_batch_of_one(value), options, trace);
  HEADWISE_TRY(batched);
  MultiHeadAttentionResult<2> result{std::move(batched->output).without_batch(),
                                     {},
                                     std::move(batched->lse).without_batch()};
  if (options.attn_weights != AttnWeights::none) {
    result.attn_weights = std::move(batched->attn_weights).without_batch();
  }
  return result;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
