#include "module/check_config.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/base/checked_product.h"
#include "headwise/module/multi_head_attention.h"
#include "module/check_norms.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kCheckConfig = "multi_head_attention";

Status check_dropout(double p) {
  return p >= 0 && p <= 1 ? ok()
                          : value_error(kCheckConfig, "dropout", number_text(p),
                                        "a number from 0 to 1");
}

// num_heads * head_dim must fit in a std::size_t.
Status check_features(std::size_t num_heads, std::size_t head_dim) {
  if (checked_product(std::array{num_heads, head_dim})) {
    return ok();
  }
  return Error::no_memory_for(std::numeric_limits<std::uint64_t>::max());
}

// Each key head is read by at least one query head, all of them by num_heads.
Status check_group_sizes(std::size_t num_heads, std::size_t num_kv_heads,
                         const std::vector<std::size_t>& sizes) {
  if (sizes.size() != num_kv_heads) {
    return argument_error(kCheckConfig, "kv_group_sizes",
                          message("has {} sizes", sizes.size()),
                          "num_kv_heads = " + std::to_string(num_kv_heads));
  }
  std::size_t left = num_heads;
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    const std::string name = "kv_group_sizes[" + std::to_string(g) + "]";
    HEADWISE_TRY(check_at_least_one(kCheckConfig, name, sizes[g]));
    // Their sum may be more than a std::size_t holds.
    if (sizes[g] > left) {
      return value_error(
          kCheckConfig, name, std::to_string(sizes[g]),
          message("at most {}, the rest of num_heads = {}", left, num_heads));
    }
    left -= sizes[g];
  }
  return left == 0 ? ok()
                   : argument_error(kCheckConfig, "kv_group_sizes",
                                    message("has the sum {}", num_heads - left),
                                    "num_heads = " + std::to_string(num_heads));
}

// Without group sizes, every key head is read by the same number of query
// heads.
Status check_kv_heads(std::size_t num_heads, std::size_t num_kv_heads,
                      const std::vector<std::size_t>& sizes) {
  if (!sizes.empty()) {
    return check_group_sizes(num_heads, num_kv_heads, sizes);
  }
  if (num_heads % num_kv_heads == 0) {
    return ok();
  }
  return value_error(kCheckConfig, "num_kv_heads", std::to_string(num_kv_heads),
                     message("a divisor of num_heads = {}", num_heads));
}

// A layer whose heads were all pruned: its output is the bias.
Status check_no_heads(const MultiHeadAttentionParams& params,
                      std::size_t num_kv_heads) {
  if (num_kv_heads != 0) {
    return value_error(kCheckConfig, "num_kv_heads",
                       std::to_string(num_kv_heads), "0 where num_heads is 0");
  }
  if (!params.w_v || !params.w_o) {
    return value_error(kCheckConfig, "num_heads", "0",
                       "at least 1 in a layer without w_v or w_o");
  }
  if (params.q_norm || params.k_norm) {
    return value_error(kCheckConfig, params.q_norm ? "q_norm" : "k_norm",
                       "given", "no norm where num_heads is 0");
  }
  if (params.bias_k || params.bias_v) {
    return value_error(kCheckConfig, params.bias_k ? "bias_k" : "bias_v",
                       "given", "no added key where num_heads is 0");
  }
  struct Features {
    std::string_view name;
    std::size_t count;
    std::string_view axis;
  };
  for (const auto& [name, count, axis] :
       {Features{"w_q.weight", params.w_q.out_features(), "rows"},
        Features{"w_k.weight", params.w_k.out_features(), "rows"},
        Features{"w_v.weight", params.w_v->out_features(), "rows"},
        Features{"w_o.weight", params.w_o->in_features(), "columns"}}) {
    if (count != 0) {
      return argument_error(kCheckConfig, name,
                            message("has {} {}", count, Message(axis)),
                            "0 where num_heads is 0");
    }
  }
  return ok();
}

Status check_added_keys(const MultiHeadAttentionParams& params,
                        std::string_view heads_name, std::size_t heads,
                        std::size_t head_dim, std::size_t v_head_dim) {
  if (params.bias_k.has_value() != params.bias_v.has_value()) {
    return value_error(kCheckConfig, params.bias_k ? "bias_v" : "bias_k",
                       "not given", "both bias_k and bias_v or neither");
  }
  if (!params.bias_k) {
    return ok();
  }
  const std::string name(heads_name);
  HEADWISE_TRY(check_shape(kCheckConfig, "bias_k", params.bias_k->extents(),
                           "(" + name + " * head_dim)", {{heads * head_dim}}));
  return check_shape(kCheckConfig, "bias_v", params.bias_v->extents(),
                     "(" + name + " * v_head_dim)", {{heads * v_head_dim}});
}

Status check_one_arithmetic(const MultiHeadAttentionParams& params) {
  const Arithmetic wanted = params.w_q.arithmetic();
  for (const auto& [name, linear] :
       {std::pair("w_k", &params.w_k),
        {"w_v", params.w_v ? &*params.w_v : &params.w_q},
        {"w_o", params.w_o ? &*params.w_o : &params.w_q}}) {
    if (linear->arithmetic() != wanted) {
      return argument_error(
          kCheckConfig, name,
          message("is in {} arithmetic", name_of(linear->arithmetic())),
          message("{}, as w_q", name_of(wanted)));
    }
  }
  return ok();
}

Status check_heads(const HeadCounts& heads) {
  const std::size_t num_kv_heads = kv_heads_of(heads);
  HEADWISE_TRY(check_at_least_one(kCheckConfig, "num_heads", heads.num_heads));
  HEADWISE_TRY(check_at_least_one(kCheckConfig, "num_kv_heads", num_kv_heads));
  return check_kv_heads(heads.num_heads, num_kv_heads, heads.kv_group_sizes);
}

// Without a projection the heads divide the features of the values.
Status check_divided(std::size_t vdim, std::size_t num_kv_heads) {
  if (vdim != 0 && vdim != kOpenSize && vdim % num_kv_heads == 0) {
    return ok();
  }
  return argument_error(
      kCheckConfig, "vdim",
      vdim == kOpenSize ? "is open" : message("is {}", vdim),
      message("a multiple of num_kv_heads = {} without a value projection",
              num_kv_heads));
}

Status check_rows(std::string_view name, const Linear& linear,
                  std::string_view heads_name, std::size_t heads) {
  if (linear.out_features() % heads == 0) {
    return ok();
  }
  return argument_error(kCheckConfig, name,
                        message("has {} rows", linear.out_features()),
                        message("a multiple of {} = {}", heads_name, heads));
}

// The size of a value head: from w_v, or without a value projection from `vdim`
// or w_o.
Result<std::size_t> value_head_dim(const MultiHeadAttentionParams& params,
                                   std::size_t num_heads,
                                   std::size_t num_kv_heads,
                                   std::optional<std::size_t> vdim) {
  const std::string_view kv_heads =
      num_kv_heads != num_heads ? "num_kv_heads" : "num_heads";
  if (params.w_v) {
    HEADWISE_TRY(check_rows("w_v.weight", *params.w_v, kv_heads, num_kv_heads));
    return params.w_v->out_features() / num_kv_heads;
  }
  if (vdim) {
    HEADWISE_TRY(check_divided(*vdim, num_kv_heads));
    return *vdim / num_kv_heads;
  }
  if (!params.w_o) {
    return value_error(kCheckConfig, "vdim", "not given",
                       "a size, as there is neither w_v nor w_o");
  }
  return params.w_o->in_features() / num_heads;
}

// An input size, in the configuration and in a call of fix_sizes().
struct InputSize {
  std::string_view name;
  std::optional<std::size_t> MultiHeadAttentionConfig::*in_config;
  std::optional<std::size_t> InputSizes::*in_sizes;
};
constexpr std::array<InputSize, 3> kInputSizes{
    {{"query_dim", &MultiHeadAttentionConfig::query_dim,
      &InputSizes::query_dim},
     {"kdim", &MultiHeadAttentionConfig::kdim, &InputSizes::kdim},
     {"vdim", &MultiHeadAttentionConfig::vdim, &InputSizes::vdim}}};

}  // namespace

Status check_rotary(const std::optional<Rotary>& rotary, std::size_t head_dim) {
  return !rotary || rotary->rotary_dim() <= head_dim
             ? ok()
             : Status(value_error(kCheckConfig, "rotary.rotary_dim",
                                  std::to_string(rotary->rotary_dim()),
                                  message("at most head_dim = {}", head_dim)));
}

std::string_view open_size(const MultiHeadAttentionConfig& config) {
  for (const InputSize& size : kInputSizes) {
    if (config.*size.in_config == kOpenSize) {
      return size.name;
    }
  }
  return {};
}

Status check_no_open_size(const MultiHeadAttentionConfig& config) try {
  const std::string_view open = open_size(config);
  return open.empty() ? ok()
                      : value_error(kCheckConfig, open, "open",
                                    "a size: call fix_sizes() first");
} catch (...) {
  return caught_out_of_memory();
}

Result<MultiHeadAttentionConfig> with_sizes(MultiHeadAttentionConfig config,
                                            const InputSizes& sizes) {
  for (const auto& [name, in_config, in_sizes] : kInputSizes) {
    std::optional<std::size_t>& dim = config.*in_config;
    const std::size_t given = (sizes.*in_sizes).value_or(kOpenSize);
    if (dim == kOpenSize) {
      if (given == kOpenSize) {
        return value_error(kCheckConfig, name, "open", "a size");
      }
      HEADWISE_TRY(check_at_least_one(kCheckConfig, name, given));
      dim = given;
    } else if (given != kOpenSize && given != dim) {
      return value_error(kCheckConfig, name, std::to_string(given),
                         message("{}, which is fixed", *dim));
    }
  }
  return config;
}

Result<MultiHeadAttentionConfig> complete_config(
    MultiHeadAttentionConfig config) try {
  for (const auto& [name, size] :
       std::array<std::pair<std::string_view, std::size_t>, 8>{
           {{"embed_dim", config.embed_dim},
            {"num_heads", config.num_heads},
            {"num_kv_heads", config.num_kv_heads.value_or(1)},
            {"query_dim", config.query_dim.value_or(1)},
            {"kdim", config.kdim.value_or(1)},
            {"vdim", config.vdim.value_or(1)},
            {"head_dim", config.head_dim.value_or(1)},
            {"v_head_dim", config.v_head_dim.value_or(1)}}}) {
    HEADWISE_TRY(check_at_least_one(kCheckConfig, name, size));
  }
  HEADWISE_TRY(check_dropout(config.dropout));
  if (!config.head_dim && config.embed_dim % config.num_heads != 0) {
    return value_error(
        kCheckConfig, "embed_dim", std::to_string(config.embed_dim),
        message("a multiple of num_heads = {} (or give head_dim)",
                config.num_heads));
  }
  config.num_kv_heads = kv_heads_of(config);
  HEADWISE_TRY(check_kv_heads(config.num_heads, *config.num_kv_heads,
                              config.kv_group_sizes));
  config.query_dim = config.query_dim.value_or(config.embed_dim);
  config.kdim = config.kdim.value_or(config.embed_dim);
  config.vdim = config.vdim.value_or(config.embed_dim);
  config.head_dim =
      config.head_dim.value_or(config.embed_dim / config.num_heads);
  if (!config.value_proj) {
    HEADWISE_TRY(check_divided(*config.vdim, *config.num_kv_heads));
    const std::size_t v_head_dim = *config.vdim / *config.num_kv_heads;
    if (config.v_head_dim.value_or(v_head_dim) != v_head_dim) {
      return value_error(
          kCheckConfig, "v_head_dim", std::to_string(*config.v_head_dim),
          message("vdim / num_kv_heads = {} without a value projection",
                  v_head_dim));
    }
    config.v_head_dim = v_head_dim;
  }
  config.v_head_dim = config.v_head_dim.value_or(*config.head_dim);
  HEADWISE_TRY(check_qk_norm(config.qk_norm));
  HEADWISE_TRY(check_rotary(config.rotary, *config.head_dim));
  for (const std::size_t dim : {*config.head_dim, *config.v_head_dim}) {
    HEADWISE_TRY(check_features(config.num_heads, dim));
  }
  return config;
} catch (...) {
  return caught_out_of_memory();
}

Result<std::size_t> check_params(const MultiHeadAttentionParams& params,
                                 const HeadCounts& heads) {
  HEADWISE_TRY(check_dropout(heads.dropout));
  HEADWISE_TRY(check_one_arithmetic(params));
  if (heads.num_heads == 0) {
    const Status s = check_no_heads(params, kv_heads_of(heads));
    return s ? Result<std::size_t>(0) : s.error();
  }
  HEADWISE_TRY(check_heads(heads));
  const std::size_t num_heads = heads.num_heads;
  const std::size_t num_kv_heads = kv_heads_of(heads);
  const bool grouped = num_kv_heads != num_heads;
  HEADWISE_TRY(check_rows("w_q.weight", params.w_q, "num_heads", num_heads));
  const std::string_view kv_heads = grouped ? "num_kv_heads" : "num_heads";
  HEADWISE_TRY(check_rows("w_k.weight", params.w_k, kv_heads, num_kv_heads));
  auto v_head_dim = value_head_dim(params, num_heads, num_kv_heads, heads.vdim);
  if (!v_head_dim) {
    return v_head_dim;
  }
  const std::size_t head_dim = params.w_q.out_features() / num_heads;
  if (heads.head_dim.value_or(head_dim) != head_dim) {
    return value_error(
        kCheckConfig, "head_dim", std::to_string(*heads.head_dim),
        message("the rows of w_q.weight / num_heads = {}", head_dim));
  }
  HEADWISE_TRY(check_norms(params, heads, head_dim));
  HEADWISE_TRY(check_rotary(heads.rotary, head_dim));
  HEADWISE_TRY(
      check_added_keys(params, kv_heads, num_kv_heads, head_dim, *v_head_dim));
  HEADWISE_TRY(check_shape(
      kCheckConfig, "w_k.weight",
      Extents<2>{params.w_k.out_features(), params.w_k.in_features()},
      grouped ? "(num_kv_heads * head_dim, kdim)"
              : "(rows of w_q.weight, kdim)",
      {{num_kv_heads * head_dim, params.w_k.in_features()}}));
  if (params.w_score) {
    HEADWISE_TRY(check_shape(kCheckConfig, "w_score.weight",
                             params.w_score->extents(), "(num_heads, head_dim)",
                             {{num_heads, head_dim}}));
  }
  if (!params.w_o) {
    return v_head_dim;
  }
  HEADWISE_TRY(check_shape(
      kCheckConfig, "w_o.weight",
      Extents<2>{params.w_o->out_features(), params.w_o->in_features()},
      grouped || !params.w_v ? "(embed_dim, num_heads * v_head_dim)"
                             : "(embed_dim, rows of w_v.weight)",
      {{params.w_o->out_features(), *v_head_dim * num_heads}}));
  return v_head_dim;
}

}  // namespace headwise::inline HEADWISE_ABI
