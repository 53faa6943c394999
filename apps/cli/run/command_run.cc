// headwise run
// Attention on the user's own tensors: the operation on (B, H, L, D), or with
// --params the layer on (B, L, E); with --offsets on a ragged batch of rows.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "headwise/interop/npy.h"
#include "operation/number_type.h"
#include "operation/operation_inputs.h"
#include "operation/option_errors.h"
#include "operation/planned_inputs.h"
#include "run_call.h"
#include "run_flags.h"
#include "run_gradients.h"
#include "run_inputs.h"
#include "shell/add_command.h"
#include "shell/file_plan.h"
#include "shell/rank_job.h"
#include "shell/visible_work.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kHelp = {
    .name = "run",
    .description = "run attention on your own tensors (.npy)",
    .examples =
        R"(  headwise run --query q.npy --key k.npy --value v.npy --out out.npy
  headwise run --query q.npy --key k.npy --value v.npy --causal --out out.npy \
      --attn-weights a.npy --lse lse.npy
  headwise run --query x.npy --key x.npy --value x.npy --params layer/ \
      --num-heads 8 --key-lengths lengths.npy --out out.npy
  headwise run --query q.npy --key k.npy --value v.npy --offsets offsets.npy \
      --causal --out out.npy
  headwise run --query q.npy --key k.npy --value v.npy --out out.npy \
      --d-output d_out.npy --grad-dir gradients/
  headwise run --query q.npy --key k.npy --value v.npy --causal --out out.npy \
      --cache paged --cache-dtype bfloat16 --chunk 1)",
    .footer =
        R"(Axes: B sequences, Hq = H query heads, Hkv key/value heads, Lq queries, Lkv keys
(with --offsets those of the longest sequence), D and Dv the head sizes of
query/key and value, E the size of a token's vector. Without B: one sequence.)"};

const std::map<std::string, AttnWeights> kForms = {
    {"per-head", AttnWeights::per_head},
    {"mean", AttnWeights::mean},
    {"after-dropout", AttnWeights::after_dropout}};

const std::map<std::string, ScoresStage> kStages = {
    {"raw", ScoresStage::raw},
    {"softcap", ScoresStage::softcap},
    {"bias", ScoresStage::bias},
    {"softmax", ScoresStage::softmax}};

// Writes without the axes of extent 1 that the input did not have.
template <class T, std::size_t Rank>
Status write(const std::string& path, const Tensor<T, Rank>& tensor,
             bool with_batch, bool with_heads = true) {
  std::vector<std::size_t> extents(tensor.extents().begin(),
                                   tensor.extents().end());
  if (!with_heads) {
    extents.erase(extents.begin() + 1);
  }
  if (!with_batch) {
    extents.erase(extents.begin());
  }
  return write_npy(path, AnyView(tensor.data(), DTypeOf<T>::value, extents));
}

constexpr const char* kPresentKey = "key.npy";
constexpr const char* kPresentValue = "value.npy";

Status write_present(const std::string& folder, const RunResult& result,
                     bool batched) {
  HEADWISE_TRY(make_folder("--present-dir", folder));
  for (const auto& [name, tensor] :
       {std::pair(kPresentKey, &result.present_key),
        {kPresentValue, &result.present_value}}) {
    HEADWISE_TRY(write((std::filesystem::path(folder) / name).string(), *tensor,
                       batched));
  }
  return ok();
}

Status write_results(const RunFlags& flags, const RunResult& result,
                     bool batched) {
  HEADWISE_TRY(flags.is_layer()
                   ? write(flags.out, result.output, batched)
                   : write(flags.out, result.output_by_heads, batched));
  if (!flags.attn_weights.empty()) {
    HEADWISE_TRY(write(flags.attn_weights, result.attn_weights,
                       batched || flags.ragged(), flags.form != "mean"));
  }
  if (!flags.lse.empty()) {
    HEADWISE_TRY(write(flags.lse, result.lse, batched));
  }
  if (!flags.scores_out.empty()) {
    HEADWISE_TRY(
        write(flags.scores_out, result.scores, batched || flags.ragged()));
  }
  if (!flags.keep_mask_out.empty()) {
    HEADWISE_TRY(write(flags.keep_mask_out, result.keep_mask,
                       batched || flags.ragged()));
  }
  if (!flags.present_dir.empty()) {
    HEADWISE_TRY(write_present(flags.present_dir, result, batched));
  }
  return flags.grad_dir.empty()
             ? ok()
             : write_gradients(flags.grad_dir, result.gradients);
}

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
      return usage(given + " needs --params");
    }
  }
  if (flags.num_kv_heads && *flags.num_heads % *flags.num_kv_heads != 0) {
    return usage(
        "--num-kv-heads", fmt::format("is {}", *flags.num_kv_heads),
        fmt::format("a divisor of --num-heads, which is {}", *flags.num_heads));
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
  if (flags.form != "per-head" && flags.attn_weights.empty() &&
      flags.d_attn_weights.empty()) {
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

Outcome check_flags(const RunFlags& flags) {
  for (const auto check :
       {check_layer_flags, check_scoring_flags, check_added_key_flags,
        check_output_flags, PastInputs::check_flags, check_cache_flags,
        check_parallel_flags}) {
    HEADWISE_TRY(check(flags));
  }
  return {};
}

FilePlan files_of(const RunFlags& flags) {
  FilePlan plan;
  plan.input("--query", flags.query);
  plan.input("--key", flags.key);
  plan.input("--value", flags.value);
  plan.input("--past-key", flags.past_key);
  plan.input("--past-value", flags.past_value);
  plan.input("--params", flags.params);
  plan.input("--d-output", flags.d_output);
  plan.input("--d-attn-weights", flags.d_attn_weights);
  plan_inputs(plan, flags.operation);
  plan_inputs(plan, flags.rotary);
  plan.output("--out", flags.out);
  plan.output("--attn-weights", flags.attn_weights);
  plan.output("--lse", flags.lse);
  plan.output("--scores-out", flags.scores_out);
  plan.output("--keep-mask-out", flags.keep_mask_out);
  plan.outputs_in("--present-dir", flags.present_dir,
                  {kPresentKey, kPresentValue}, /*parents=*/true);
  plan.outputs_in("--grad-dir", flags.grad_dir, gradient_files(),
                  /*parents=*/true);
  return plan;
}

// Those of the operation, with what is asked of this call.
AttentionOptions options_of(const RunFlags& flags, const PastInputs& past,
                            const OperationInputs& operation) {
  AttentionOptions options = operation.options();
  if (flags.operation.query_start.empty()) {
    if (flags.cache.given()) {
      options.query_start = QueryStart::bottom_right();
    } else if (past.given()) {
      options.query_start = static_cast<std::int64_t>(past.length());
    }
  }
  if (!flags.attn_weights.empty() || !flags.d_attn_weights.empty()) {
    options.attn_weights = kForms.at(flags.form);
  }
  if (!flags.scores_out.empty()) {
    options.scores =
        kStages.at(flags.scores_stage.empty() ? "raw" : flags.scores_stage);
  }
  return options;
}

// What the options name, read.
struct RunFiles {
  InputArrays arrays;
  OperationInputs operation;
  PastInputs past;
  RotaryInputs rotary;
};

Result<RunFiles> read_files(const RunFlags& flags) {
  auto arrays = read_inputs(flags);
  HEADWISE_TRY(arrays);
  const std::size_t heads_axis = flags.heads_first() ? 1 : 2;
  auto operation = OperationInputs::read(
      flags.operation, arrays->batched,
      flags.num_heads.value_or(arrays->query.shape[heads_axis]));
  HEADWISE_TRY(operation);
  auto past = PastInputs::read(flags, *arrays);
  HEADWISE_TRY(past);
  auto rotary =
      RotaryInputs::read(flags.rotary, arrays->batched || flags.ragged());
  HEADWISE_TRY(rotary);
  return RunFiles{*std::move(arrays), *std::move(operation), *std::move(past),
                  *std::move(rotary)};
}

// `group`: of --parallel, or null.
Outcome run_on(const RunFlags& flags, Communicator* group) {
  const auto agree = [group](const Outcome& own) {
    return group == nullptr ? own : agreed(*group, own);
  };
  HEADWISE_TRY(agree(files_of(flags).check()));
  auto files = work_visibly(group, [&] { return read_files(flags); });
  HEADWISE_TRY(agree(files ? Outcome() : Outcome(files.error())));
  const AttentionOptions options =
      options_of(flags, files->past, files->operation);
  const bool batched = files->arrays.batched;
  const auto result =
      flags.is_layer()
          ? run_layer(flags, files->arrays, files->operation, options,
                      files->rotary, group)
          : run_operation(flags, std::move(files->arrays), files->past,
                          files->operation, options, files->rotary, group);
  if (!result) {
    return in_option_words(in_rotary_words(result.error()), flags.operation);
  }
  if (group != nullptr) {
    group->set_step("run", "writing files");
  }
  const bool writes = group == nullptr || group->rank() == 0;
  return agree(
      writes
          ? written(work_visibly(
                group, [&] { return write_results(flags, *result, batched); }))
          : Outcome());
}

Outcome run_run(const RunFlags& flags, const Streams&) {
  HEADWISE_TRY(check_flags(flags));
  if (!flags.parallel.given()) {
    return run_on(flags, nullptr);
  }
  const auto group = join_job(flags.parallel.longest_wait());
  HEADWISE_TRY(group);
  return run_on(flags, *group);
}

constexpr const char* kNpy = "F.npy";

void add_tensor_options(const Arguments& tensors, RunFlags& flags) {
  tensors
      .add_text("--query", flags.query, kNpy, "(B, Hq, Lq, D), or (Hq, Lq, D)")
      .required();
  tensors.add_text("--key", flags.key, kNpy, "(B, Hkv, Lkv, D)").required();
  tensors.add_text("--value", flags.value, kNpy, "(B, Hkv, Lkv, Dv)")
      .required();
  add_layout_option(tensors, flags.layout);
  add_dtype_option(tensors, flags.dtype);
  add_ragged_options(tensors, flags.operation);
}

void add_past_options(const Arguments& cache, RunFlags& flags) {
  cache
      .add_text("--past-key", flags.past_key, kNpy,
                "(B, Hkv, P, D): keys of P tokens before those of --key; the "
                "default of --query-start is then P")
      .advanced();
  cache
      .add_text("--past-value", flags.past_value, kNpy,
                "(B, Hkv, P, Dv): values of these tokens")
      .advanced();
  cache
      .add_text("--present-dir", flags.present_dir, "DIR",
                "write past and new keys and values to this folder: key.npy "
                "and value.npy, for --past-key and --past-value of the next "
                "call")
      .advanced();
}

void add_layer_options(const Arguments& layer, RunFlags& flags) {
  layer.add_text("--params", flags.params, "DIR|FILE",
                 "run a layer with the parameters in a folder of .npy files, "
                 "a .npz or a .safetensors: w_q.weight, w_q.bias, the same "
                 "for w_k, w_v and w_o, w_score.weight for additive scoring, "
                 "q_norm.weight and k_norm.weight for --qk-norm, and bias_k "
                 "and bias_v of an added key; query, key and value are then "
                 "(B, L, E)");
  add_layer_choice(layer, flags.layer);
  layer.add_count("--num-heads", flags.num_heads, "number of heads");
  layer
      .add_count("--num-kv-heads", flags.num_kv_heads,
                 "number of key/value heads (default: --num-heads)")
      .advanced();
}

void add_gradient_options(const Arguments& gradients, RunFlags& flags) {
  gradients.add_text(
      "--d-output", flags.d_output, kNpy,
      "gradient of the loss with respect to the output, with its shape");
  gradients
      .add_text("--d-attn-weights", flags.d_attn_weights, kNpy,
                "gradient of the loss with respect to the attention weights, "
                "with the shape of --attn-weights")
      .advanced();
  gradients.add_text(
      "--grad-dir", flags.grad_dir, "DIR",
      "write the gradients to this folder: d_query.npy, d_key.npy, "
      "d_value.npy, d_bias.npy, d_t5_bias.npy, d_alibi.npy, d_sinks.npy, "
      "d_bias_k.npy, d_bias_v.npy and those of the parameters, such as "
      "d_w_q.weight.npy");
}

void add_output_options(const Arguments& output, RunFlags& flags) {
  output
      .add_text("--out", flags.out, kNpy,
                "write the output, in the layout of the query")
      .required();
  output.add_text("--attn-weights", flags.attn_weights, kNpy,
                  "write the attention weights (B, H, Lq, Lkv)");
  output
      .add_choice(
          "--attn-weights-form", flags.form,
          {"per-head", "mean", "after-dropout"},
          "per head (default), their mean (B, Lq, Lkv), or after dropout")
      .advanced();
  output.add_text(
      "--lse", flags.lse, kNpy,
      "write the log-sum-exp of the scores (B, H, Lq), natural log");
  output
      .add_text("--scores-out", flags.scores_out, kNpy,
                "write the scores (B, H, Lq, Lkv)")
      .advanced();
  output
      .add_choice("--scores-stage", flags.scores_stage,
                  {"raw", "softcap", "bias", "softmax"},
                  "--scores-out has the scores of raw q.k (default), after "
                  "the softcap, after biases and masks, or after the softmax")
      .advanced();
  output
      .add_text("--keep-mask-out", flags.keep_mask_out, kNpy,
                "write which attention weights --dropout kept (B, H, Lq, Lkv), "
                "true = kept; --keep-mask reads it")
      .advanced();
}

void add_options(const Arguments& command, RunFlags& flags) {
  add_tensor_options(command.under("Tensors"), flags);
  add_score_weight_option(command.under("Scores"), flags.operation);
  add_added_key_options(command.under("Scores"), flags.operation);
  add_layer_options(command.under("Layer"), flags);
  const Arguments cache = command.under("Keys and values of earlier tokens");
  add_past_options(cache, flags);
  add_cache_options(cache, flags.cache);
  add_parallel_options(command.under("Several processes"), flags.parallel);
  add_output_options(command.under("Output"), flags);
  add_gradient_options(command.under("Gradients"), flags);
  add_operation_options(command, flags.operation);
  add_qk_norm_options(command, flags.qk_norm);
  add_rotary_options(command, flags.rotary);
}

}  // namespace

void add_run(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kHelp, add_options, run_run);
}

}  // namespace headwise::cli
