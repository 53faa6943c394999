#include "module/check_norms.h"

#include <string>
#include <string_view>

#include "base/check.h"
#include "module/check_config.h"
#include "steps/layer_norm_terms.h"
#include "steps/norm_params.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kCheckNorms = "multi_head_attention";

Status check_norm_sizes(std::string_view name, const QkNorm& norm,
                        const HeadNormParams& params, std::string_view heads,
                        std::size_t count, std::size_t head_dim) {
  const Extents<1> expected{norm_params(norm.over, count, head_dim)};
  const std::string axes = norm.over == NormOver::head
                               ? "(head_dim)"
                               : "(" + std::string(heads) + " * head_dim)";
  HEADWISE_TRY(check_shape(kCheckNorms, std::string(name) + ".weight",
                           params.weight.extents(), axes, expected));
  return norm.bias ? check_shape(kCheckNorms, std::string(name) + ".bias",
                                 params.bias.extents(), axes, expected)
                   : ok();
}

}  // namespace

Status check_qk_norm(const std::optional<QkNorm>& norm) {
  if (!norm) {
    return ok();
  }
  HEADWISE_TRY(check_norm_eps(kCheckNorms, norm->eps, "qk_norm.eps"));
  return norm->kind == NormKind::rms && norm->bias
             ? Status(value_error(kCheckNorms, "qk_norm.bias", "true",
                                  "false in an RMS norm"))
             : ok();
}

Status check_norms(const MultiHeadAttentionParams& params,
                   const HeadCounts& heads, std::size_t head_dim) {
  if (params.q_norm.has_value() != params.k_norm.has_value()) {
    return value_error(kCheckNorms, params.q_norm ? "k_norm" : "q_norm",
                       "not given", "both norms or neither");
  }
  if (params.q_norm.has_value() != heads.qk_norm.has_value()) {
    return params.q_norm
               ? value_error(kCheckNorms, "qk_norm", "not given",
                             "the kind of norm that q_norm.weight belongs to")
               : value_error(kCheckNorms, "qk_norm", "given",
                             "a layer with q_norm.weight and k_norm.weight");
  }
  if (!heads.qk_norm) {
    return ok();
  }
  QkNorm norm = *heads.qk_norm;
  norm.bias =
      params.q_norm->bias.size() != 0 || params.k_norm->bias.size() != 0;
  HEADWISE_TRY(check_qk_norm(norm));
  const std::size_t kv_heads = kv_heads_of(heads);
  HEADWISE_TRY(check_norm_sizes("q_norm", norm, *params.q_norm, "num_heads",
                                heads.num_heads, head_dim));
  return check_norm_sizes(
      "k_norm", norm, *params.k_norm,
      kv_heads == heads.num_heads ? "num_heads" : "num_kv_heads", kv_heads,
      head_dim);
}

}  // namespace headwise::inline HEADWISE_ABI
