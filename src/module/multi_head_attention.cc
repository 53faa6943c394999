#include "headwise/module/multi_head_attention.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "headwise/attention/plan.h"
#include "headwise/attention/stepwise.h"
#include "headwise/steps/heads.h"
#include "headwise/steps/merge.h"
#include "module/check_config.h"
#include "steps/project.h"

namespace headwise {
namespace {

constexpr std::string_view kOperation = "multi_head_attention";

// The random streams of the parameters (the embedding's is 0).
enum ParamStream : std::uint32_t { kWq = 1, kWk = 2, kWv = 3, kWo = 4 };

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
  if (Status s =
          check_shape(kOperation, "query", query.extents(),
                      "(B, Lq, query_dim)", {{B, Lq, *config.query_dim}});
      !s) {
    return s;
  }
  if (Status s = check_shape(kOperation, "key", key.extents(), "(B, Lkv, kdim)",
                             {{B, Lkv, *config.kdim}});
      !s) {
    return s;
  }
  return check_shape(kOperation, "value", value.extents(), "(B, Lkv, vdim)",
                     {{B, Lkv, *config.vdim}});
}

struct Inputs {
  TensorView<const float, 3> query;  // (B, Lq, query_dim)
  TensorView<const float, 3> key;    // (B, Lkv, kdim)
  TensorView<const float, 3> value;  // (B, Lkv, vdim)
};

// The three projected inputs and how the trace calls them.
struct Projected {
  Tensor<float, 3> query;  // (B, Lq, H * D)
  Tensor<float, 3> key;    // (B, Lkv, Hkv * D)
  Tensor<float, 3> value;  // (B, Lkv, Hkv * Dv)
};

Result<Projected> make_projected(const MultiHeadAttentionParams& params,
                                 const AttentionShape& shape) {
  const auto make = [&](std::size_t length, const Linear& linear) {
    return Tensor<float, 3>::create_unset(
        {shape.batches(), length, linear.out_features()});
  };
  auto q = make(shape.query_rows(), params.w_q);
  auto k = make(shape.key_rows(), params.w_k);
  auto v = make(shape.key_rows(), params.w_v);
  if (!q || !k || !v) {
    return !q ? q.error() : !k ? k.error() : v.error();
  }
  return Projected{*std::move(q), *std::move(k), *std::move(v)};
}

// Keys that a query of their sequence may attend to end here; empty where all
// are read: an empty row may average every value, a ragged batch has no
// padding.
std::vector<std::size_t> read_ends(const AttentionSpec& spec) {
  std::vector<std::size_t> ends;
  if (spec.mask.allows_all() || spec.empty_rows == EmptyRow::uniform ||
      spec.shape.offsets.ragged()) {
    return ends;
  }
  for (std::size_t b = 0; b < spec.shape.B; ++b) {
    ends.push_back(spec.mask.visible_end(b, 0, spec.shape.Lq));
  }
  const bool all = std::ranges::all_of(
      ends, [&](std::size_t end) { return end == spec.shape.Lkv; });
  return all ? std::vector<std::size_t>{} : ends;
}

bool is_same(const TensorView<const float, 3>& a,
             const TensorView<const float, 3>& b) {
  return a.data() == b.data() && a.extents() == b.extents() &&
         a.strides() == b.strides();
}

// One pass over each tensor that is given: one for self-attention, two where
// key and value are one. Keys and values from ends[b] on are 0.
Result<Projected> project_inputs(const MultiHeadAttentionParams& params,
                                 const Inputs& inputs,
                                 const AttentionShape& shape,
                                 std::span<const std::size_t> ends,
                                 const Executor& executor) {
  auto projected = make_projected(params, shape);
  if (!projected) {
    return projected.error();
  }
  const Projection q{&params.w_q, projected->query.view()};
  const Projection k{&params.w_k, projected->key.view()};
  const Projection v{&params.w_v, projected->value.view()};
  const bool one_memory = is_same(inputs.key, inputs.value);
  if (one_memory && ends.empty() && is_same(inputs.query, inputs.key)) {
    project(inputs.query, std::array{q, k, v}, {}, executor);
    return projected;
  }
  project(inputs.query, std::array{q}, {}, executor);
  if (one_memory) {
    project(inputs.key, std::array{k, v}, ends, executor);
    return projected;
  }
  project(inputs.key, std::array{k}, ends, executor);
  project(inputs.value, std::array{v}, ends, executor);
  return projected;
}

struct Heads {
  TensorView<const float, 4> query;  // (B, Lq, H, D)
  TensorView<const float, 4> key;    // (B, Lkv, Hkv, D)
  TensorView<const float, 4> value;  // (B, Lkv, Hkv, Dv)
};

Result<Heads> split(const Projected& projected, const AttentionShape& shape) {
  const auto q = split_heads(projected.query.view(), shape.Hq);
  const auto k = split_heads(projected.key.view(), shape.Hkv);
  const auto v = split_heads(projected.value.view(), shape.Hkv);
  if (!q || !k || !v) {
    return !q ? q.error() : !k ? k.error() : v.error();
  }
  return Heads{*q, *k, *v};
}

void tell(TraceSink& trace, std::string_view name,
          std::vector<std::string_view> axes, const AnyView& tensor) {
  trace.on_step(name, axes, tensor);
}

void tell_projected(TraceSink& trace, const Projected& projected,
                    const Heads& heads) {
  const bool grouped = heads.key.extent(2) != heads.query.extent(2);
  const std::string_view kv = grouped ? "Hkv" : "H";
  tell(trace, "q", {"B", "Lq", "H*D"}, projected.query.view());
  tell(trace, "k", {"B", "Lkv", grouped ? "Hkv*D" : "H*D"},
       projected.key.view());
  tell(trace, "v", {"B", "Lkv", grouped ? "Hkv*Dv" : "H*Dv"},
       projected.value.view());
  tell(trace, "q_heads", {"B", "H", "Lq", "D"}, as_bhld(heads.query));
  tell(trace, "k_heads", {"B", kv, "Lkv", "D"}, as_bhld(heads.key));
  tell(trace, "v_heads", {"B", kv, "Lkv", "Dv"}, as_bhld(heads.value));
}

// What the heads give: the context and what was asked for beside it.
struct Attended {
  Tensor<float, 4> context;       // (B, Lq, H, Dv)
  Tensor<float, 4> attn_weights;  // as options.attn_weights says
  Tensor<float, 3> lse;           // (B, H, Lq)
};

Extents<4> attn_weights_extents(const AttentionSpec& spec) {
  const AttentionShape& shape = spec.shape;
  if (spec.attn_weights == AttnWeights::none) {
    return {};
  }
  return {shape.B, spec.attn_weights == AttnWeights::mean ? 1 : shape.Hq,
          shape.Lq, shape.Lkv};
}

Result<Attended> attend(const AttentionPlan& plan, const Heads& heads) {
  const AttentionShape& shape = plan.spec().shape;
  const std::size_t B = shape.batches();
  const std::size_t Lq = shape.query_rows();
  auto context = Tensor<float, 4>::create_unset({B, Lq, shape.Hq, shape.Dv});
  auto attn_weights =
      Tensor<float, 4>::create_unset(attn_weights_extents(plan.spec()));
  auto lse = Tensor<float, 3>::create_unset({B, shape.Hq, Lq});
  if (!context || !attn_weights || !lse) {
    return !context        ? context.error()
           : !attn_weights ? attn_weights.error()
                           : lse.error();
  }
  if (Status s = plan.run(
          heads.query, heads.key, heads.value,
          AttentionOutputs{context->view(), attn_weights->view(), lse->view()});
      !s) {
    return s.error();
  }
  return Attended{*std::move(context), *std::move(attn_weights),
                  *std::move(lse)};
}

// What a call of the layer asks of the operation.
Result<AttentionPlan> plan_of(const MultiHeadAttentionConfig& config,
                              const Inputs& inputs,
                              const AttentionOptions& options) {
  return AttentionPlan::create({.B = inputs.query.extent(0),
                                .Hq = config.num_heads,
                                .Hkv = *config.num_kv_heads,
                                .Lq = inputs.query.extent(1),
                                .Lkv = inputs.key.extent(1),
                                .D = *config.head_dim,
                                .Dv = *config.v_head_dim},
                               options);
}

}  // namespace

Result<MultiHeadAttention> MultiHeadAttention::create(
    const MultiHeadAttentionConfig& config, Seed seed) {
  auto filled = complete_config(config);
  if (!filled) {
    return filled.error();
  }
  MultiHeadAttention layer(*filled, seed);
  if (!is_open(*filled)) {
    if (Status s = layer.draw_params(); !s) {
      return s.error();
    }
  }
  return layer;
}

Result<MultiHeadAttention> MultiHeadAttention::from_params(
    MultiHeadAttentionParams params, std::size_t num_heads,
    std::optional<std::size_t> num_kv_heads) {
  const std::size_t kv_heads = num_kv_heads.value_or(num_heads);
  if (Status s = check_params(params, num_heads, kv_heads); !s) {
    return s.error();
  }
  const std::size_t v_head_dim = params.w_v.out_features() / kv_heads;
  MultiHeadAttentionConfig config{
      .embed_dim =
          params.w_o ? params.w_o->out_features() : num_heads * v_head_dim,
      .num_heads = num_heads,
      .num_kv_heads = kv_heads,
      .bias = params.w_q.has_bias(),
      .query_dim = params.w_q.in_features(),
      .kdim = params.w_k.in_features(),
      .vdim = params.w_v.in_features(),
      .head_dim = params.w_q.out_features() / num_heads,
      .v_head_dim = v_head_dim,
      .out_proj = params.w_o.has_value()};
  MultiHeadAttention layer(config, Seed{});
  layer.params_ = std::move(params);
  return layer;
}

Status MultiHeadAttention::draw_params() {
  const std::size_t num_heads = config_.num_heads;
  const std::size_t num_kv_heads = *config_.num_kv_heads;
  const auto draw = [&](std::size_t in, std::size_t out, ParamStream stream) {
    return Linear::create({in, out, config_.bias}, RandomStream(seed_, stream));
  };
  auto w_q = draw(*config_.query_dim, num_heads * *config_.head_dim, kWq);
  auto w_k = draw(*config_.kdim, num_kv_heads * *config_.head_dim, kWk);
  auto w_v = draw(*config_.vdim, num_kv_heads * *config_.v_head_dim, kWv);
  for (const auto* linear : {&w_q, &w_k, &w_v}) {
    if (!*linear) {
      return linear->error();
    }
  }
  MultiHeadAttentionParams params{*std::move(w_q), *std::move(w_k),
                                  *std::move(w_v), std::nullopt};
  if (config_.out_proj) {
    auto w_o = draw(num_heads * *config_.v_head_dim, config_.embed_dim, kWo);
    if (!w_o) {
      return w_o.error();
    }
    params.w_o = *std::move(w_o);
  }
  params_ = std::move(params);
  return ok();
}

Result<MultiHeadAttentionResult<3>> MultiHeadAttention::forward(
    TensorView<const float, 3> query, TensorView<const float, 3> key,
    TensorView<const float, 3> value, const AttentionOptions& options,
    TraceSink* trace) {
  if (params_) {
    return std::as_const(*this).forward(query, key, value, options, trace);
  }
  const auto fix = [](std::optional<std::size_t>& dim, std::size_t given) {
    if (dim == kFromFirstCall) {
      dim = given;
    }
  };
  const MultiHeadAttentionConfig open = config_;
  fix(config_.query_dim, query.extent(2));
  fix(config_.kdim, key.extent(2));
  fix(config_.vdim, value.extent(2));
  Status s = check_inputs(config_, query, key, value);
  if (s) {
    s = draw_params();
  }
  if (s) {
    auto result =
        std::as_const(*this).forward(query, key, value, options, trace);
    if (result) {
      return result;
    }
    s = result.error();
  }
  // A call that fails fixes nothing.
  config_ = open;
  params_.reset();
  return s.error();
}

Result<MultiHeadAttentionResult<3>> MultiHeadAttention::forward(
    TensorView<const float, 3> query, TensorView<const float, 3> key,
    TensorView<const float, 3> value, const AttentionOptions& options,
    TraceSink* trace) const {
  if (!params_) {
    return Error{ErrorCode::invalid_argument,
                 "multi_head_attention: an input size is kFromFirstCall and "
                 "the layer is const, expected a first call on a layer that "
                 "may change"};
  }
  if (Status s = check_inputs(config_, query, key, value); !s) {
    return s.error();
  }
  AttentionOptions attend_options = options;
  attend_options.dropout.p = options.dropout.p.value_or(config_.dropout);
  const Executor& executor =
      options.executor ? *options.executor : Executor::default_executor();

  const Inputs inputs{query, key, value};
  const auto plan = plan_of(config_, inputs, attend_options);
  if (!plan) {
    return plan.error();
  }
  const AttentionShape& shape = plan->spec().shape;
  // The trace is shown whole tensors.
  const std::vector<std::size_t> ends =
      trace == nullptr ? read_ends(plan->spec()) : std::vector<std::size_t>{};
  auto projected = project_inputs(*params_, inputs, shape, ends, executor);
  if (!projected) {
    return projected.error();
  }
  const auto heads = split(*projected, shape);
  if (!heads) {
    return heads.error();
  }
  if (trace != nullptr) {
    tell_projected(*trace, *projected, *heads);
  }
  // The trace's steps are computed beside the result, so that being watched
  // changes no bit of it.
  if (trace != nullptr) {
    const auto steps = stepwise_attention(heads->query, heads->key,
                                          heads->value, attend_options, trace);
    if (!steps) {
      return steps.error();
    }
  }
  auto attended = attend(*plan, *heads);
  if (!attended) {
    return attended.error();
  }
  // (B, Lq, H * Dv): the same memory, seen without the heads.
  Tensor<float, 3> merged = merge_heads(std::move(attended->context));
  if (trace != nullptr) {
    tell(*trace, "merged", {"B", "Lq", "H*Dv"}, merged.view());
  }
  MultiHeadAttentionResult<3> result{
      {}, std::move(attended->attn_weights), std::move(attended->lse)};
  if (!params_->w_o) {
    result.output = std::move(merged);
  } else {
    auto output =
        params_->w_o->forward(std::as_const(merged).view(), "merged", executor);
    if (!output) {
      return output.error();
    }
    result.output = *std::move(output);
  }
  if (trace != nullptr) {
    tell(*trace, "output", {"B", "Lq", params_->w_o ? "E" : "H*Dv"},
         std::as_const(result.output).view());
  }
  return result;
}

Result<MultiHeadAttentionResult<2>> MultiHeadAttention::forward(
    TensorView<const float, 2> query, TensorView<const float, 2> key,
    TensorView<const float, 2> value, const AttentionOptions& options,
    TraceSink* trace) {
  if (options.offsets.ragged() && options.attn_weights != AttnWeights::none) {
    return Error{ErrorCode::unsupported,
                 "multi_head_attention: attn_weights of a ragged batch have an "
                 "axis B, expected query, key and value of shape (1, rows, E)"};
  }
  auto batched = forward(as_batch_of_one(query), as_batch_of_one(key),
                         as_batch_of_one(value), options, trace);
  if (!batched) {
    return batched.error();
  }
  MultiHeadAttentionResult<2> result{std::move(batched->output).without_batch(),
                                     {},
                                     std::move(batched->lse).without_batch()};
  if (options.attn_weights != AttnWeights::none) {
    result.attn_weights = std::move(batched->attn_weights).without_batch();
  }
  return result;
}

}  // namespace headwise
