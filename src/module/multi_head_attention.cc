#include "headwise/module/multi_head_attention.h"

#include <array>
#include <string>
#include <utility>

#include "base/check.h"
#include "headwise/attention/forward.h"
#include "headwise/attention/stepwise.h"
#include "headwise/base/checked_product.h"
#include "headwise/steps/heads.h"
#include "headwise/steps/merge.h"

namespace headwise {
namespace {

constexpr std::string_view kOperation = "multi_head_attention";

// The random streams of the parameters (the embedding's is 0).
enum ParamStream : std::uint32_t { kWq = 1, kWk = 2, kWv = 3, kWo = 4 };

// All heads side by side must be a size.
Status check_features(std::string_view name, std::size_t num_heads,
                      std::size_t head_dim) {
  if (checked_product(std::array{num_heads, head_dim})) {
    return ok();
  }
  return Error{ErrorCode::out_of_memory,
               std::string(kOperation) + ": num_heads * " + std::string(name) +
                   " = " + std::to_string(num_heads) + " * " +
                   std::to_string(head_dim) +
                   " needs more memory than there is"};
}

bool is_open(const MultiHeadAttentionConfig& config) {
  return config.query_dim == kFromFirstCall || config.kdim == kFromFirstCall ||
         config.vdim == kFromFirstCall;
}

Status check_params(const MultiHeadAttentionParams& params,
                    std::size_t num_heads) {
  if (Status s = check_at_least_one(kOperation, "num_heads", num_heads); !s) {
    return s;
  }
  for (const auto& [name, linear] :
       std::array<std::pair<std::string_view, const Linear*>, 3>{
           {{"w_q.weight", &params.w_q},
            {"w_k.weight", &params.w_k},
            {"w_v.weight", &params.w_v}}}) {
    if (linear->out_features() % num_heads != 0) {
      return value_error(
          kOperation, "the number of rows of " + std::string(name),
          std::to_string(linear->out_features()),
          "a multiple of num_heads = " + std::to_string(num_heads));
    }
  }
  if (Status s =
          check_shape(kOperation, "w_k.weight", params.w_k.weight().extents(),
                      "(rows of w_q.weight, kdim)",
                      {{params.w_q.out_features(), params.w_k.in_features()}});
      !s) {
    return s;
  }
  if (!params.w_o) {
    return ok();
  }
  return check_shape(kOperation, "w_o.weight", params.w_o->weight().extents(),
                     "(embed_dim, rows of w_v.weight)",
                     {{params.w_o->out_features(), params.w_v.out_features()}});
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

// The three projected inputs and how the trace calls them.
struct Projected {
  Tensor<float, 3> query;  // (B, Lq, H * D)
  Tensor<float, 3> key;    // (B, Lkv, H * D)
  Tensor<float, 3> value;  // (B, Lkv, H * Dv)
};

Result<Projected> project(const MultiHeadAttentionParams& params,
                          TensorView<const float, 3> query,
                          TensorView<const float, 3> key,
                          TensorView<const float, 3> value,
                          const Executor& executor) {
  auto q = params.w_q.forward(query, "query", executor);
  auto k = params.w_k.forward(key, "key", executor);
  auto v = params.w_v.forward(value, "value", executor);
  if (!q || !k || !v) {
    return !q ? q.error() : !k ? k.error() : v.error();
  }
  return Projected{*std::move(q), *std::move(k), *std::move(v)};
}

struct Heads {
  TensorView<const float, 4> query;  // (B, Lq, H, D)
  TensorView<const float, 4> key;    // (B, Lkv, H, D)
  TensorView<const float, 4> value;  // (B, Lkv, H, Dv)
};

Result<Heads> split(const Projected& projected, std::size_t num_heads) {
  const auto q = split_heads(projected.query.view(), num_heads);
  const auto k = split_heads(projected.key.view(), num_heads);
  const auto v = split_heads(projected.value.view(), num_heads);
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
  tell(trace, "q", {"B", "Lq", "H*D"}, projected.query.view());
  tell(trace, "k", {"B", "Lkv", "H*D"}, projected.key.view());
  tell(trace, "v", {"B", "Lkv", "H*Dv"}, projected.value.view());
  tell(trace, "q_heads", {"B", "H", "Lq", "D"}, as_bhld(heads.query));
  tell(trace, "k_heads", {"B", "H", "Lkv", "D"}, as_bhld(heads.key));
  tell(trace, "v_heads", {"B", "H", "Lkv", "Dv"}, as_bhld(heads.value));
}

// What the heads give: the context and what was asked for beside it.
struct Attended {
  Tensor<float, 4> context;       // (B, Lq, H, Dv)
  Tensor<float, 4> attn_weights;  // as options.attn_weights says
  Tensor<float, 3> lse;           // (B, H, Lq)
};

Extents<4> attn_weights_extents(const Heads& heads, AttnWeights form) {
  const auto [B, Lq, H, D] = heads.query.extents();
  const std::size_t Lkv = heads.key.extent(1);
  if (form == AttnWeights::none) {
    return {};
  }
  return {B, form == AttnWeights::mean ? 1 : H, Lq, Lkv};
}

Result<Attended> attend(const Heads& heads, const AttentionOptions& options) {
  const auto [B, Lq, H, D] = heads.query.extents();
  auto context = Tensor<float, 4>::create({B, Lq, H, heads.value.extent(3)});
  auto attn_weights = Tensor<float, 4>::create(
      attn_weights_extents(heads, options.attn_weights));
  auto lse = Tensor<float, 3>::create({B, H, Lq});
  if (!context || !attn_weights || !lse) {
    return !context        ? context.error()
           : !attn_weights ? attn_weights.error()
                           : lse.error();
  }
  if (Status s = attention(
          heads.query, heads.key, heads.value,
          AttentionOutputs{context->view(), attn_weights->view(), lse->view()},
          options);
      !s) {
    return s.error();
  }
  return Attended{*std::move(context), *std::move(attn_weights),
                  *std::move(lse)};
}

}  // namespace

Result<MultiHeadAttentionConfig> complete_config(
    MultiHeadAttentionConfig config) {
  for (const auto& [name, size] :
       std::array<std::pair<std::string_view, std::size_t>, 7>{
           {{"embed_dim", config.embed_dim},
            {"num_heads", config.num_heads},
            {"query_dim", config.query_dim.value_or(1)},
            {"kdim", config.kdim.value_or(1)},
            {"vdim", config.vdim.value_or(1)},
            {"head_dim", config.head_dim.value_or(1)},
            {"v_head_dim", config.v_head_dim.value_or(1)}}}) {
    if (Status s = check_at_least_one(kOperation, name, size); !s) {
      return s.error();
    }
  }
  if (!(config.dropout >= 0 && config.dropout <= 1)) {
    return value_error(kOperation, "dropout", number_text(config.dropout),
                       "a number from 0 to 1");
  }
  if (!config.head_dim && config.embed_dim % config.num_heads != 0) {
    return value_error(
        kOperation, "embed_dim", std::to_string(config.embed_dim),
        "a multiple of num_heads = " + std::to_string(config.num_heads) +
            " (or give head_dim)");
  }
  config.query_dim = config.query_dim.value_or(config.embed_dim);
  config.kdim = config.kdim.value_or(config.embed_dim);
  config.vdim = config.vdim.value_or(config.embed_dim);
  config.head_dim =
      config.head_dim.value_or(config.embed_dim / config.num_heads);
  config.v_head_dim = config.v_head_dim.value_or(*config.head_dim);
  for (const auto& [name, dim] :
       {std::pair("head_dim", *config.head_dim),
        std::pair("v_head_dim", *config.v_head_dim)}) {
    if (Status s = check_features(name, config.num_heads, dim); !s) {
      return s.error();
    }
  }
  return config;
}

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
    MultiHeadAttentionParams params, std::size_t num_heads) {
  if (Status s = check_params(params, num_heads); !s) {
    return s.error();
  }
  MultiHeadAttentionConfig config{
      .embed_dim =
          params.w_o ? params.w_o->out_features() : params.w_v.out_features(),
      .num_heads = num_heads,
      .bias = params.w_q.has_bias(),
      .query_dim = params.w_q.in_features(),
      .kdim = params.w_k.in_features(),
      .vdim = params.w_v.in_features(),
      .head_dim = params.w_q.out_features() / num_heads,
      .v_head_dim = params.w_v.out_features() / num_heads,
      .out_proj = params.w_o.has_value()};
  MultiHeadAttention layer(config, Seed{});
  layer.params_ = std::move(params);
  return layer;
}

Status MultiHeadAttention::draw_params() {
  const std::size_t qk_features = config_.num_heads * *config_.head_dim;
  const std::size_t v_features = config_.num_heads * *config_.v_head_dim;
  const auto draw = [&](std::size_t in, std::size_t out, ParamStream stream) {
    return Linear::create({in, out, config_.bias}, RandomStream(seed_, stream));
  };
  auto w_q = draw(*config_.query_dim, qk_features, kWq);
  auto w_k = draw(*config_.kdim, qk_features, kWk);
  auto w_v = draw(*config_.vdim, v_features, kWv);
  for (const auto* linear : {&w_q, &w_k, &w_v}) {
    if (!*linear) {
      return linear->error();
    }
  }
  MultiHeadAttentionParams params{*std::move(w_q), *std::move(w_k),
                                  *std::move(w_v), std::nullopt};
  if (config_.out_proj) {
    auto w_o = draw(v_features, config_.embed_dim, kWo);
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

  auto projected = project(*params_, query, key, value, executor);
  if (!projected) {
    return projected.error();
  }
  const auto heads = split(*projected, config_.num_heads);
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
  auto attended = attend(*heads, attend_options);
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
