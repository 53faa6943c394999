// headwise run
// Attention on the user's own tensors: the operation on (B, H, L, D), or with
// --params the layer on (B, L, E); with --offsets on a ragged batch of rows.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "headwise/interop/npy.h"
#include "operation/operation_inputs.h"
#include "operation/option_errors.h"
#include "operation/planned_inputs.h"
#include "run_call.h"
#include "run_flags.h"
#include "run_gradients.h"
#include "run_inputs.h"
#include "shell/args.h"
#include "shell/command.h"
#include "shell/file_plan.h"

namespace headwise::cli {
namespace {

constexpr std::string_view kExamples =
    R"(  headwise run --query q.npy --key k.npy --value v.npy --out out.npy
  headwise run --query q.npy --key k.npy --value v.npy --causal --out out.npy \
      --attn-weights a.npy --lse lse.npy
  headwise run --query x.npy --key x.npy --value x.npy --params layer/ \
      --num-heads 8 --key-lengths lengths.npy --out out.npy
  headwise run --query q.npy --key k.npy --value v.npy --offsets offsets.npy \
      --causal --out out.npy
  headwise run --query q.npy --key k.npy --value v.npy --out out.npy \
      --d-output d_out.npy --grad-dir gradients/)";

constexpr std::string_view kAxes =
    R"(Axes: B sequences, Hq = H query heads, Hkv key/value heads, Lq queries, Lkv keys
(with --offsets those of the longest sequence), D and Dv the head sizes of
query/key and value, E the size of a token's vector. Without B: one sequence.)";

const std::map<std::string, AttnWeights> kForms = {
    {"per-head", AttnWeights::per_head},
    {"mean", AttnWeights::mean},
    {"after-dropout", AttnWeights::after_dropout}};

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
  std::vector<std::ptrdiff_t> strides(extents.size(), 1);
  for (std::size_t axis = extents.size(); axis-- > 1;) {
    strides[axis - 1] =
        strides[axis] * static_cast<std::ptrdiff_t>(extents[axis]);
  }
  return write_npy(path,
                   AnyView(tensor.data(), DTypeOf<T>::value, extents, strides));
}

Outcome write_results(const RunFlags& flags, const RunResult& result,
                      bool batched) {
  Status s = flags.is_layer()
                 ? write(flags.out, result.output, batched)
                 : write(flags.out, result.output_by_heads, batched);
  if (s && !flags.attn_weights.empty()) {
    s = write(flags.attn_weights, result.attn_weights,
              batched || flags.ragged(), flags.form != "mean");
  }
  if (s && !flags.lse.empty()) {
    s = write(flags.lse, result.lse, batched);
  }
  if (s && !flags.keep_mask_out.empty()) {
    s = write(flags.keep_mask_out, result.keep_mask, batched || flags.ragged());
  }
  if (s && !flags.grad_dir.empty()) {
    s = write_gradients(flags.grad_dir, result.gradients);
  }
  return s ? Outcome{} : failure_to_write(s.error());
}

Outcome check_layer_flags(const RunFlags& flags) {
  if (flags.is_layer() && !flags.num_heads) {
    return usage("--params needs --num-heads");
  }
  if (!flags.is_layer() && flags.num_heads) {
    return usage(
        "--num-heads is for --params; without it the tensors say how many");
  }
  if (!flags.is_layer() && flags.num_kv_heads) {
    return usage(
        "--num-kv-heads is for --params; without it the tensors say how many");
  }
  if (const std::string given = flags.layer.given();
      !flags.is_layer() && !given.empty()) {
    return usage(given + " needs --params");
  }
  if (flags.num_kv_heads && *flags.num_heads % *flags.num_kv_heads != 0) {
    return usage(
        fmt::format("--num-kv-heads is {}, expected a divisor of "
                    "--num-heads, which is {}",
                    *flags.num_kv_heads, *flags.num_heads));
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

Outcome check_output_flags(const RunFlags& flags) {
  if (flags.form != "per-head" && flags.attn_weights.empty() &&
      flags.d_attn_weights.empty()) {
    return usage("--attn-weights-form needs --attn-weights FILE");
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
       {check_layer_flags, check_scoring_flags, check_output_flags}) {
    if (Outcome failed = check(flags)) {
      return failed;
    }
  }
  return {};
}

FilePlan files_of(const RunFlags& flags) {
  FilePlan plan;
  plan.input("--query", flags.query);
  plan.input("--key", flags.key);
  plan.input("--value", flags.value);
  plan.input("--params", flags.params);
  plan.input("--d-output", flags.d_output);
  plan.input("--d-attn-weights", flags.d_attn_weights);
  plan_inputs(plan, flags.operation);
  plan.output("--out", flags.out);
  plan.output("--attn-weights", flags.attn_weights);
  plan.output("--lse", flags.lse);
  plan.output("--keep-mask-out", flags.keep_mask_out);
  plan.outputs_in("--grad-dir", flags.grad_dir, gradient_files(),
                  /*parents=*/true);
  return plan;
}

Outcome run_run(const RunFlags& flags) {
  if (Outcome failed = check_flags(flags)) {
    return failed;
  }
  if (Outcome failed = files_of(flags).check()) {
    return failed;
  }
  const auto arrays = read_inputs(flags);
  if (!arrays) {
    return failure_of(arrays.error());
  }
  const std::size_t heads_axis = flags.heads_first() ? 1 : 2;
  const auto operation = OperationInputs::read(
      flags.operation, arrays->batched,
      flags.num_heads.value_or(arrays->query.shape[heads_axis]));
  if (!operation) {
    return failure_of(operation.error());
  }
  AttentionOptions options = operation->options();
  if (!flags.attn_weights.empty() || !flags.d_attn_weights.empty()) {
    options.attn_weights = kForms.at(flags.form);
  }
  const auto result = flags.is_layer() ? run_layer(flags, *arrays, options)
                                       : run_operation(flags, *arrays, options);
  if (!result) {
    return failure_of(in_option_words(result.error(), flags.operation));
  }
  return write_results(flags, *result, arrays->batched);
}

void add_tensor_options(const Arguments& command, RunFlags& flags) {
  const auto file = [&](const std::string& name, std::string& path,
                        const std::string& text) {
    command.add_option(name, path, text)
        .type_name("F.npy")
        .check(not_empty())
        .required()
        .group("Tensors");
  };
  file("--query", flags.query, "(B, Hq, Lq, D), or (Hq, Lq, D)");
  file("--key", flags.key, "(B, Hkv, Lkv, D)");
  file("--value", flags.value, "(B, Hkv, Lkv, Dv)");
  add_layout_option(command, flags.layout);
  add_ragged_options(command, flags.operation);
  command
      .add_option(
          "--score-weight", flags.operation.score_weight,
          "(H, D): w of --scoring additive; D is the size of the hidden layer")
      .type_name("F.npy")
      .check(not_empty())
      .group("Scores")
      .advanced();
}

void add_layer_options(const Arguments& command, RunFlags& flags) {
  command
      .add_option("--params", flags.params,
                  "run a layer with the parameters in a folder of .npy files, "
                  "a .npz or a .safetensors: w_q.weight, w_q.bias, likewise "
                  "w_k, w_v and w_o, w_score.weight for additive scoring; "
                  "query, key and value are then (B, L, E)")
      .type_name("DIR|FILE")
      .check(not_empty())
      .group("Layer");
  add_layer_choice(command, flags.layer);
  command.add_count("--num-heads", flags.num_heads, "number of heads")
      .group("Layer");
  command
      .add_count("--num-kv-heads", flags.num_kv_heads,
                 "number of key/value heads (default: --num-heads)")
      .group("Layer")
      .advanced();
}

void add_gradient_options(const Arguments& command, RunFlags& flags) {
  command
      .add_option("--d-output", flags.d_output,
                  "gradient of the loss by the output, in its shape")
      .type_name("F.npy")
      .check(not_empty())
      .group("Gradients");
  command
      .add_option("--d-attn-weights", flags.d_attn_weights,
                  "gradient of the loss by the attention weights, in the shape "
                  "of --attn-weights")
      .type_name("F.npy")
      .check(not_empty())
      .group("Gradients")
      .advanced();
  command
      .add_option("--grad-dir", flags.grad_dir,
                  "write the gradients to this folder: d_query.npy, d_key.npy, "
                  "d_value.npy, d_bias.npy, d_alibi.npy and those of the "
                  "parameters, such as d_w_q.weight.npy")
      .type_name("DIR")
      .check(not_empty())
      .group("Gradients");
}

void add_output_options(const Arguments& command, RunFlags& flags) {
  const auto file = [&](const std::string& name, std::string& path,
                        const std::string& text) {
    return command.add_option(name, path, text)
        .type_name("F.npy")
        .check(not_empty())
        .group("Output");
  };
  file("--out", flags.out, "write the output, in the layout of the query")
      .required();
  file("--attn-weights", flags.attn_weights,
       "write the attention weights (B, H, Lq, Lkv)");
  command
      .add_option(
          "--attn-weights-form", flags.form,
          "per head (default), their mean (B, Lq, Lkv), or after dropout")
      .type_name("per-head|mean|after-dropout")
      .check(one_of({"per-head", "mean", "after-dropout"}))
      .group("Output")
      .advanced();
  file("--lse", flags.lse,
       "write the log-sum-exp of the scores (B, H, Lq), natural log");
  file("--keep-mask-out", flags.keep_mask_out,
       "write which attention weights --dropout kept (B, H, Lq, Lkv), true = "
       "kept; --keep-mask reads it")
      .advanced();
}

}  // namespace

void add_run(const Arguments& app, Command& chosen) {
  const Arguments command =
      app.add_command("run", "run attention on your own tensors (.npy)",
                      std::string(kExamples));
  command.footer(std::string(kAxes));
  auto flags = std::make_shared<RunFlags>();
  add_tensor_options(command, *flags);
  add_layer_options(command, *flags);
  add_output_options(command, *flags);
  add_gradient_options(command, *flags);
  add_operation_options(command, flags->operation);
  command.on_parsed([flags, &chosen] {
    chosen = [flags](const Streams&) { return run_run(*flags); };
  });
}

}  // namespace headwise::cli
