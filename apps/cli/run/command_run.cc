// headwise run
// Attention on the user's own tensors: the operation on (B, H, L, D), or with
// --params the layer on (B, L, E); with --offsets on a ragged batch of rows.

#include <map>
#include <utility>

#include "operation/arithmetic_option.h"
#include "operation/number_type.h"
#include "operation/operation_inputs.h"
#include "operation/option_errors.h"
#include "run_call.h"
#include "run_flags.h"
#include "run_gradients.h"
#include "run_inputs.h"
#include "run_results.h"
#include "shell/add_command.h"
#include "shell/file_plan.h"
#include "shell/ranks/rank_job.h"
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

// Those of the operation, with what is asked of this call.
AttentionOptions options_of(const RunFlags& flags, const PastInputs& past,
                            const OperationInputs& operation) {
  AttentionOptions options = operation.options();
  if (flags.operation.query_start.empty() && !operation.places_queries()) {
    if (flags.cache.given()) {
      options.query_start = QueryStart::bottom_right();
    } else if (past.given()) {
      options.query_start = static_cast<std::int64_t>(past.length());
    }
  }
  if (!flags.attn_weights.empty() || !flags.d_attn_weights.empty()) {
    options.attn_weights = kForms.at(flags.weights_form());
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

// Of the tensors, past keys included.
MaskSizes mask_sizes(const RunFlags& flags, const InputArrays& arrays,
                     std::size_t past_length) {
  const auto& query = arrays.query.shape;
  const auto& key = arrays.key.shape;
  const std::size_t length = flags.is_layer() || !flags.heads_first() ? 1 : 2;
  const std::size_t heads = flags.heads_first() ? 1 : 2;
  return {.B = query[0],
          .Hq = flags.num_heads.value_or(query[heads]),
          .Lq = query[length],
          .Lkv = key[length] + past_length,
          .batched = arrays.batched};
}

Result<RunFiles> read_files(const RunFlags& flags) {
  HEADWISE_ASSIGN(auto arrays, read_inputs(flags));
  const std::size_t heads_axis = flags.heads_first() ? 1 : 2;
  HEADWISE_ASSIGN(auto operation,
                  OperationInputs::read(flags.operation, arrays.batched,
                                        flags.num_heads.value_or(
                                            arrays.query.shape[heads_axis])));
  HEADWISE_ASSIGN(auto past, PastInputs::read(flags, arrays));
  HEADWISE_TRY(operation.use_dialect(
      mask_sizes(flags, arrays, past.length()),
      {.returns_weights =
           !(flags.attn_weights.empty() && flags.d_attn_weights.empty()),
       .dropout = flags.operation.dropout.has_value(),
       .past_length = past.length()}));
  HEADWISE_ASSIGN(
      auto rotary,
      RotaryInputs::read(flags.rotary, arrays.batched || flags.ragged()));
  return RunFiles{std::move(arrays), std::move(operation), std::move(past),
                  std::move(rotary)};
}

// `group`: of --parallel, or null.
Outcome run_on(const RunFlags& flags, Communicator* group,
               const Streams& streams) {
  const auto agree = [group](const Outcome& own) {
    return group == nullptr ? own : agreed(*group, own);
  };
  const FilePlan plan = flags.line.files();
  HEADWISE_TRY(agree(plan.check()));
  auto files = work_visibly(group, [&] { return read_files(flags); });
  HEADWISE_TRY(agree(files ? Outcome() : Outcome(files.error())));
  const AttentionOptions options =
      options_of(flags, files->past, files->operation);
  const bool batched = files->arrays.batched;
  const std::string read =
      flags.is_layer() ? "" : read_axes_of(flags, files->arrays);
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
  const auto write = [&]() -> Outcome {
    HEADWISE_TRY(written(work_visibly(
        group, [&] { return write_results(flags, *result, batched); })));
    return plan.print_summary(streams, read);
  };
  const bool writes = group == nullptr || group->rank() == 0;
  return agree(writes ? write() : Outcome());
}

Outcome run_run(const RunFlags& flags, const Streams& streams) {
  HEADWISE_TRY(check_flags(flags));
  if (!flags.parallel.given()) {
    return run_on(flags, nullptr, streams);
  }
  HEADWISE_ASSIGN(const auto group, join_job(flags.parallel.longest_wait()));
  return run_on(flags, group, streams);
}

void add_tensor_options(const Arguments& tensors, RunFlags& flags) {
  tensors.add(
      {{"--query", &flags.query, npy(), "(B, Hq, Lq, D), or (Hq, Lq, D)",
        required()},
       {"--key", &flags.key, npy(), "(B, Hkv, Lkv, D)", required()},
       {"--value", &flags.value, npy(), "(B, Hkv, Lkv, Dv)", required()},
       layout_option(flags.layout),
       dtype_option(flags.dtype),
       arithmetic_option(flags.operation.arithmetic)});
  tensors.add(ragged_options(flags.operation));
}

void add_past_options(const Arguments& cache, RunFlags& flags) {
  cache.add({{"--past-key", &flags.past_key, npy(),
              "(B, Hkv, P, D): keys of P tokens before those of --key; the "
              "default of --query-start is then P",
              advanced()},
             {"--past-value", &flags.past_value, npy(),
              "(B, Hkv, P, Dv): values of these tokens", advanced()},
             {"--present-dir", &flags.present_dir,
              outputs_in("DIR", {kPresentKey, kPresentValue}),
              "write past and new keys and values to this folder: key.npy and "
              "value.npy, for --past-key and --past-value of the next call",
              advanced()}});
}

void add_layer_options(const Arguments& layer, RunFlags& flags) {
  layer.add({{"--params", &flags.params, input_file("DIR|FILE"),
              "run a layer with the parameters in a folder of .npy files, a "
              ".npz or a .safetensors: w_q.weight, w_q.bias, the same for w_k, "
              "w_v and w_o, w_score.weight for additive scoring, q_norm.weight "
              "and k_norm.weight for --qk-norm, and bias_k and bias_v of an "
              "added key; query, key and value are then (B, L, E)"}});
  add_layer_choice(layer, flags.layer);
  layer.add({{"--num-heads", &flags.num_heads, count(), "number of heads"},
             {"--num-kv-heads", &flags.num_kv_heads, count(),
              "number of key/value heads (default: --num-heads)", advanced()}});
}

void add_gradient_options(const Arguments& gradients, RunFlags& flags) {
  gradients.add(
      {{"--d-output", &flags.d_output, npy(),
        "gradient of the loss with respect to the output, with its shape"},
       {"--d-attn-weights", &flags.d_attn_weights, npy(),
        "gradient of the loss with respect to the attention weights, with the "
        "shape of --attn-weights",
        advanced()},
       {"--grad-dir", &flags.grad_dir, outputs_in("DIR", gradient_files()),
        "write the gradients to this folder: d_query.npy, d_key.npy, "
        "d_value.npy, d_bias.npy, d_t5_bias.npy, d_alibi.npy, d_sinks.npy, "
        "d_bias_k.npy, d_bias_v.npy and those of the parameters, such as "
        "d_w_q.weight.npy"}});
}

void add_output_options(const Arguments& output, RunFlags& flags) {
  output.add({{"--out", &flags.out, out_npy(),
               "write the output, in the layout of the query", required()},
              {"--attn-weights", &flags.attn_weights, out_npy(),
               "write the attention weights (B, H, Lq, Lkv)"},
              {"--attn-weights-form", &flags.form,
               choice({"per-head", "mean", "after-dropout"}),
               "per head (default), their mean (B, Lq, Lkv), or after dropout",
               advanced()},
              {"--lse", &flags.lse, out_npy(),
               "write the log-sum-exp of the scores (B, H, Lq), natural log"},
              {"--scores-out", &flags.scores_out, out_npy(),
               "write the scores (B, H, Lq, Lkv)", advanced()},
              {"--scores-stage", &flags.scores_stage,
               choice({"raw", "softcap", "bias", "softmax"}),
               "--scores-out has the scores of raw q.k (default), after the "
               "softcap, after biases and masks, or after the softmax",
               advanced()},
              {"--keep-mask-out", &flags.keep_mask_out, out_npy(),
               "write which attention weights --dropout kept (B, H, Lq, Lkv), "
               "true = kept; --keep-mask reads it",
               advanced()}});
}

void add_options(const Arguments& command, RunFlags& flags) {
  command.keep_line(flags.line);
  add_tensor_options(command.under("Tensors"), flags);
  command.under("Scores").add({score_weight_option(flags.operation)});
  command.under("Scores").add(added_key_options(flags.operation));
  add_layer_options(command.under("Layer"), flags);
  const Arguments cache = command.under("Keys and values of earlier tokens");
  add_past_options(cache, flags);
  cache.add(cache_options(flags.cache));
  command.under("Several processes").add(parallel_options(flags.parallel));
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
