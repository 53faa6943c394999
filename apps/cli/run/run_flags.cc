#include "run_flags.h"

#include <fmt/format.h>

#include "past_inputs.h"

namespace headwise::cli {
namespace {

Outcome check_layer_flags(const RunFlags& flags) {
  if (flags.is_layer() && !flags.num_heads) {
    return usage("--params needs --num-heads");
  }
  if (!flags.is_layer() && flags.num_heads) {
    return usage(
        "--num-heads needs --params; otherwise the tensor shapes give the "
        "number of heads");
  }
  if (!flags.is_layer() && flags.num_kv_heads) {
    return usage(
        "--num-kv-heads needs --params; otherwise the tensor shapes give the "
        "number of heads");
  }
  for (const std::string& given :
       {flags.layer.given(), flags.qk_norm.given()}) {
    if (!flags.is_layer() && !given.empty()) {
      return usage(message("{} needs --params", given));
    }
  }
  if (flags.num_kv_heads && *flags.num_heads % *flags.num_kv_heads != 0) {
    return usage(
        "--num-kv-heads", message("is {}", *flags.num_kv_heads),
        message("a divisor of --num-heads, which is {}", *flags.num_heads));
  }
  if (flags.is_layer() && !flags.layout.empty()) {
    return usage(
        "--layout is for tensors with heads; with --params they are (B, L, E)");
  }
  return {};
}

Outcome check_scoring_flags(const RunFlags& flags) {
  if (flags.is_layer() && !flags.operation.score_weight.empty()) {
    return usage(
        "--score-weight is for tensors with heads; with --params the layer's "
        "is w_score.weight");
  }
  if (!flags.operation.score_weight.empty() && !flags.operation.additive()) {
    return usage("--score-weight needs --scoring additive");
  }
  if (!flags.is_layer() && flags.operation.additive() &&
      flags.operation.score_weight.empty()) {
    return usage("--scoring additive needs --score-weight or --params");
  }
  if (flags.operation.additive() && flags.operation.scale) {
    return usage("--scale is for --scoring dot; additive scores have none");
  }
  return {};
}

Outcome check_added_key_flags(const RunFlags& flags) {
  const std::string& bias_k = flags.operation.bias_k;
  const std::string& bias_v = flags.operation.bias_v;
  if (flags.is_layer() && !(bias_k.empty() && bias_v.empty())) {
    return usage(
        "--bias-k and --bias-v are for tensors with heads; with --params the "
        "layer's are bias_k and bias_v");
  }
  return {};
}

Outcome check_output_flags(const RunFlags& flags) {
  if (!flags.form.empty() && flags.form != "per-head" &&
      flags.attn_weights.empty() && flags.d_attn_weights.empty()) {
    return usage("--attn-weights-form needs --attn-weights FILE");
  }
  if (!flags.scores_stage.empty() && flags.scores_out.empty()) {
    return usage("--scores-stage needs --scores-out FILE");
  }
  if (flags.d_output.empty() != flags.grad_dir.empty()) {
    return usage(flags.grad_dir.empty() ? "--d-output needs --grad-dir"
                                        : "--grad-dir needs --d-output");
  }
  if (!flags.d_attn_weights.empty() && flags.d_output.empty()) {
    return usage("--d-attn-weights needs --d-output and --grad-dir");
  }
  if (!flags.keep_mask_out.empty() && !flags.operation.dropout) {
    return usage("--keep-mask-out needs --dropout");
  }
  return {};
}

}  // namespace

Outcome check_flags(const RunFlags& flags) {
  for (const auto check :
       {check_layer_flags, check_scoring_flags, check_added_key_flags,
        check_output_flags, PastInputs::check_flags, check_cache_flags,
        check_parallel_flags}) {
    HEADWISE_TRY(check(flags));
  }
  return {};
}

}  // namespace headwise::cli
