// The configuration of a multi-head attention layer, and its parameters:
//
//   w_q.weight  (num_heads * head_dim, query_dim)     w_q.bias  (out features)
//   w_k.weight  (num_kv_heads * head_dim, kdim)       w_k.bias
//   w_v.weight  (num_kv_heads * v_head_dim, vdim)     w_v.bias
//   w_o.weight  (embed_dim, num_heads * v_head_dim)   w_o.bias
//   w_score.weight  (num_heads, head_dim)             additive scoring only
//   q_norm.weight   (head_dim)                        q_norm.bias  as many
//   k_norm.weight   (head_dim)                        k_norm.bias
//   bias_k  (num_kv_heads * head_dim)   bias_v  (num_kv_heads * v_head_dim)
//
// q_norm and k_norm are those of `.qk_norm`; unless its `over` is
// NormOver::head they have num_heads and num_kv_heads times as many elements.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "headwise/base/arithmetic.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/steps/norm_heads.h"
#include "headwise/steps/projection.h"
#include "headwise/steps/rotary.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// An input size that is still open: MultiHeadAttention::fix_sizes() sets it.
inline constexpr std::size_t kOpenSize = ~std::size_t{0};

// How a query and a key are compared.
enum class Scoring { dot, additive };

struct MultiHeadAttentionConfig {
  std::size_t embed_dim = 0;  // the output's size
  std::size_t num_heads = 0;
  // Number of key and value heads, a divisor of num_heads unless kv_group_sizes
  // are given; not given: as many as there are groups, or num_heads.
  std::optional<std::size_t> num_kv_heads{};
  // How many query heads read each key head, in order; empty: evenly.
  std::vector<std::size_t> kv_group_sizes{};
  double dropout = 0;  // on the attention weights, when training
  bool bias = true;    // in all four projections
  // Input sizes; not given: embed_dim.
  std::optional<std::size_t> query_dim{};
  std::optional<std::size_t> kdim{};
  std::optional<std::size_t> vdim{};
  // Sizes of one head; not given: embed_dim / num_heads, and head_dim.
  std::optional<std::size_t> head_dim{};
  std::optional<std::size_t> v_head_dim{};
  bool out_proj = true;
  // false: the values are split into heads without a projection, so vdim =
  // num_kv_heads * v_head_dim, as in d2l's additive attention.
  bool value_proj = true;
  Scoring scoring = Scoring::dot;
  // Normalises queries and keys, before their rotation.
  std::optional<QkNorm> qk_norm{};
  // Rotates queries and keys; its rotary_dim is at most head_dim.
  std::optional<Rotary> rotary{};
  bool add_bias_kv = false;    // a learned key and value in every sequence
  bool add_zero_attn = false;  // a key and value of zeros
  // bf16: projections and attention multiply numbers rounded to bfloat16
  // (docs/arithmetic.md). The parameters stay float32, also in training.
  Arithmetic arithmetic = Arithmetic::exact;
};

// The same configuration with every missing size filled in. Errors:
// invalid_argument for a size of 0, num_heads that does not divide embed_dim,
// num_kv_heads that does not divide num_heads, groups that do not add up to
// num_heads, a vdim that num_kv_heads does not divide if there is no value
// projection, dropout outside [0, 1], a norm with an eps that is not a positive
// number in binary32 or with a bias if it is an RMS norm, a rotary_dim above
// head_dim.
Result<MultiHeadAttentionConfig> complete_config(
    MultiHeadAttentionConfig config);

struct MultiHeadAttentionParams {
  Linear w_q;
  Linear w_k;
  std::optional<Linear> w_v{};                // none: values are not projected
  std::optional<Linear> w_o{};                // none: no output projection
  std::optional<Tensor<float, 2>> w_score{};  // given: additive scoring
  // Set both or neither: without them nothing is normalised.
  std::optional<HeadNormParams> q_norm{};
  std::optional<HeadNormParams> k_norm{};
  // Set both or neither: (num_kv_heads * head_dim), (num_kv_heads *
  // v_head_dim).
  std::optional<Tensor<float, 1>> bias_k{};
  std::optional<Tensor<float, 1>> bias_v{};
};

// Whether every projection keeps its parameters as given: none was made with
// Linear::for_inference().
inline bool keeps_params(const MultiHeadAttentionParams& params) {
  return params.w_q.keeps_params() && params.w_k.keeps_params() &&
         (!params.w_v || params.w_v->keeps_params()) &&
         (!params.w_o || params.w_o->keeps_params());
}

// What the shapes of the parameters do not say about a layer.
struct HeadCounts {
  std::size_t num_heads = 0;
  // As in MultiHeadAttentionConfig.
  std::optional<std::size_t> num_kv_heads{};
  std::vector<std::size_t> kv_group_sizes{};
  // For a layer without w_v; not given: the input size of w_o.
  std::optional<std::size_t> vdim{};
  // Must be the rows of w_q.weight / num_heads, which is the default.
  std::optional<std::size_t> head_dim{};
  double dropout = 0;
  // Must be given if there are q_norm and k_norm, which say its `bias`.
  std::optional<QkNorm> qk_norm{};
  std::optional<Rotary> rotary{};
  bool add_zero_attn = false;
};

// Sizes of the inputs. Sizes that are not open may be left out.
struct InputSizes {
  std::optional<std::size_t> query_dim{};
  std::optional<std::size_t> kdim{};
  std::optional<std::size_t> vdim{};
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
