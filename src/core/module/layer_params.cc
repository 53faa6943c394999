#include "module/layer_params.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "headwise/steps/projection.h"
#include "steps/norm_params.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// The random streams of the parameters (the embedding's is 0).
enum ParamStream : std::uint32_t {
  kWq = 1,
  kWk = 2,
  kWv = 3,
  kWo = 4,
  kWScore = 5,
  kBiasK = 6,
  kBiasV = 7
};

// The names of the parameters of a projection or a norm.
struct ParamPair {
  std::string_view weight;
  std::string_view bias;
};
constexpr ParamPair kWqNames{"w_q.weight", "w_q.bias"};
constexpr ParamPair kWkNames{"w_k.weight", "w_k.bias"};
constexpr ParamPair kWvNames{"w_v.weight", "w_v.bias"};
constexpr ParamPair kWoNames{"w_o.weight", "w_o.bias"};
constexpr std::string_view kWScoreName = "w_score.weight";
constexpr std::string_view kBiasKName = "bias_k";
constexpr std::string_view kBiasVName = "bias_v";
constexpr ParamPair kQNormNames{"q_norm.weight", "q_norm.bias"};
constexpr ParamPair kKNormNames{"k_norm.weight", "k_norm.bias"};

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

// As PyTorch's xavier_normal_() of a (1, 1, E) tensor, whose fans are E both.
Result<Tensor<float, 1>> draw_added(std::size_t elements,
                                    const RandomStream& random) {
  auto added = Tensor<float, 1>::create({elements});
  if (added) {
    random.fill_normal(added->elements());
    const auto deviation =
        static_cast<float>(1 / std::sqrt(static_cast<double>(elements)));
    for (float& x : added->elements()) {
      x *= deviation;
    }
  }
  return added;
}

// Its factor is 1 and its bias 0.
Result<HeadNormParams> first_norm(const QkNorm& norm, std::size_t heads,
                                  std::size_t head_dim) {
  const std::size_t count = norm_params(norm.over, heads, head_dim);
  HEADWISE_ASSIGN(auto weight, Tensor<float, 1>::create({count}));
  HEADWISE_ASSIGN(auto bias, Tensor<float, 1>::create({norm.bias ? count : 0}));
  std::ranges::fill(weight.elements(), norm.plus_one ? 0.0f : 1.0f);
  return HeadNormParams{std::move(weight), std::move(bias)};
}

Result<Linear> in(Arithmetic arithmetic, const Linear& linear) {
  return arithmetic == Arithmetic::bf16 ? linear.in_bf16()
                                        : linear.in_float32();
}
Result<std::optional<Linear>> in(Arithmetic arithmetic,
                                 const std::optional<Linear>& linear) {
  if (!linear) {
    return std::optional<Linear>();
  }
  HEADWISE_ASSIGN(auto made, in(arithmetic, *linear));
  return std::optional(std::move(made));
}

Status update_norm(
    HeadNormParams& norm, const ParamPair& names,
    FunctionRef<Status(std::string_view, std::span<float>)> change) {
  HEADWISE_TRY(change(names.weight, norm.weight.elements()));
  return norm.bias.size() == 0 ? ok()
                               : change(names.bias, norm.bias.elements());
}

Status update_linear(
    Linear& linear, const ParamPair& names,
    FunctionRef<Status(std::string_view, std::span<float>)> change) {
  Status s = ok();
  linear.update([&](std::span<float> weight, std::span<float> bias) {
    s = change(names.weight, weight);
    if (s && !bias.empty()) {
      s = change(names.bias, bias);
    }
  });
  return s;
}

// `Gradients` is MultiHeadAttentionParamGradients, const or not.
template <class Gradients, class Show>
void show_gradients(Gradients& gradients, const Show& show) {
  const auto show_pair = [&](auto& pair, const ParamPair& names) {
    show(names.weight, pair.weight.elements());
    if (pair.bias.size() != 0) {
      show(names.bias, pair.bias.elements());
    }
  };
  show_pair(gradients.w_q, kWqNames);
  show_pair(gradients.w_k, kWkNames);
  // Without heads its weight has no rows, but it has columns.
  if (gradients.w_v.weight.extents() != Extents<2>{}) {
    show_pair(gradients.w_v, kWvNames);
  }
  if (gradients.w_o) {
    show_pair(*gradients.w_o, kWoNames);
  }
  if (gradients.w_score.size() != 0) {
    show(kWScoreName, gradients.w_score.elements());
  }
  if (gradients.q_norm) {
    show_pair(*gradients.q_norm, kQNormNames);
    show_pair(*gradients.k_norm, kKNormNames);
  }
  if (gradients.bias_k.size() != 0) {
    show(kBiasKName, gradients.bias_k.elements());
    show(kBiasVName, gradients.bias_v.elements());
  }
}

}  // namespace

Result<MultiHeadAttentionParams> draw_params(
    const MultiHeadAttentionConfig& config, Seed seed) {
  const std::size_t num_heads = config.num_heads;
  const std::size_t num_kv_heads = *config.num_kv_heads;
  const auto draw = [&](std::size_t in, std::size_t out, ParamStream stream) {
    return Linear::create({in, out, config.bias}, RandomStream(seed, stream));
  };
  HEADWISE_ASSIGN(auto w_q,
                  draw(*config.query_dim, num_heads * *config.head_dim, kWq));
  HEADWISE_ASSIGN(auto w_k,
                  draw(*config.kdim, num_kv_heads * *config.head_dim, kWk));
  MultiHeadAttentionParams params{std::move(w_q), std::move(w_k)};
  if (config.value_proj) {
    HEADWISE_ASSIGN(params.w_v,
                    draw(*config.vdim, num_kv_heads * *config.v_head_dim, kWv));
  }
  if (config.out_proj) {
    HEADWISE_ASSIGN(params.w_o, draw(num_heads * *config.v_head_dim,
                                     config.embed_dim, kWo));
  }
  if (config.scoring == Scoring::additive) {
    HEADWISE_ASSIGN(params.w_score,
                    draw_score_weight(num_heads, *config.head_dim,
                                      RandomStream(seed, kWScore)));
  }
  if (config.qk_norm) {
    HEADWISE_ASSIGN(auto q_norm,
                    first_norm(*config.qk_norm, num_heads, *config.head_dim));
    HEADWISE_ASSIGN(auto k_norm, first_norm(*config.qk_norm, num_kv_heads,
                                            *config.head_dim));
    params.q_norm = std::move(q_norm);
    params.k_norm = std::move(k_norm);
  }
  if (config.add_bias_kv) {
    HEADWISE_ASSIGN(auto bias_k, draw_added(num_kv_heads * *config.head_dim,
                                            RandomStream(seed, kBiasK)));
    HEADWISE_ASSIGN(auto bias_v, draw_added(num_kv_heads * *config.v_head_dim,
                                            RandomStream(seed, kBiasV)));
    params.bias_k = std::move(bias_k);
    params.bias_v = std::move(bias_v);
  }
  if (config.arithmetic != Arithmetic::exact) {
    HEADWISE_TRY(set_arithmetic(params, config.arithmetic));
  }
  return params;
}

Status set_arithmetic(MultiHeadAttentionParams& params, Arithmetic arithmetic) {
  HEADWISE_ASSIGN(auto w_q, in(arithmetic, params.w_q));
  HEADWISE_ASSIGN(auto w_k, in(arithmetic, params.w_k));
  HEADWISE_ASSIGN(auto w_v, in(arithmetic, params.w_v));
  HEADWISE_ASSIGN(auto w_o, in(arithmetic, params.w_o));
  params.w_q = std::move(w_q);
  params.w_k = std::move(w_k);
  params.w_v = std::move(w_v);
  params.w_o = std::move(w_o);
  return ok();
}

void give_new_id(LayerState& layer) {
  static std::atomic<std::uint64_t> last_id = 0;
  layer.params_id = ++last_id;
}

void set_params(LayerState& layer, MultiHeadAttentionParams params) {
  layer.params = std::move(params);
  give_new_id(layer);
}

Status update_params(
    LayerState& layer,
    FunctionRef<Status(std::string_view, std::span<float>)> change) {
  give_new_id(layer);  // first: `change` may throw
  MultiHeadAttentionParams& params = *layer.params;
  HEADWISE_TRY(update_linear(params.w_q, kWqNames, change));
  HEADWISE_TRY(update_linear(params.w_k, kWkNames, change));
  if (params.w_v) {
    HEADWISE_TRY(update_linear(*params.w_v, kWvNames, change));
  }
  if (params.w_o) {
    HEADWISE_TRY(update_linear(*params.w_o, kWoNames, change));
  }
  if (params.w_score) {
    HEADWISE_TRY(change(kWScoreName, params.w_score->elements()));
  }
  if (params.q_norm) {
    HEADWISE_TRY(update_norm(*params.q_norm, kQNormNames, change));
    HEADWISE_TRY(update_norm(*params.k_norm, kKNormNames, change));
  }
  if (params.bias_k) {
    HEADWISE_TRY(change(kBiasKName, params.bias_k->elements()));
    HEADWISE_TRY(change(kBiasVName, params.bias_v->elements()));
  }
  return ok();
}

void MultiHeadAttentionParamGradients::for_each(
    FunctionRef<void(std::string_view, std::span<float>)> show) {
  show_gradients(*this, show);
}

void MultiHeadAttentionParamGradients::for_each(
    FunctionRef<void(std::string_view, std::span<const float>)> show) const {
  show_gradients(*this, show);
}

}  // namespace headwise::inline HEADWISE_ABI
