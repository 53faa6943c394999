// headwise run
// Attention on the user's own tensors: the operation on (B, H, L, D), or with
// --params the layer on (B, L, E); with --offsets on a ragged batch of rows.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <utility>

#include "args.h"
#include "command.h"
#include "headwise/attention/forward.h"
#include "headwise/interop/npy.h"
#include "headwise/steps/offsets.h"
#include "layer_params.h"
#include "operation_inputs.h"
#include "option_errors.h"
#include "run_flags.h"
#include "run_inputs.h"

namespace headwise::cli {
namespace {

constexpr std::string_view kExamples =
    R"(  headwise run --query q.npy --key k.npy --value v.npy --out out.npy
  headwise run --query q.npy --key k.npy --value v.npy --causal --out out.npy \
      --attn-weights a.npy --lse lse.npy
  headwise run --query x.npy --key x.npy --value x.npy --params layer/ \
      --num-heads 8 --key-lengths lengths.npy --out out.npy
  headwise run --query q.npy --key k.npy --value v.npy --offsets offsets.npy \
      --causal --out out.npy)";

constexpr std::string_view kAxes =
    R"(Axes: B sequences, Hq = H heads of queries, Hkv heads of keys and values, Lq
queries, Lkv keys (with --offsets those of the longest sequence), D size of a
head, Dv of a value's, E of a token's vector. Without B: one sequence.)";

const std::map<std::string, AttnWeights> kForms = {
    {"per-head", AttnWeights::per_head},
    {"mean", AttnWeights::mean},
    {"after-dropout", AttnWeights::after_dropout}};

// What is written: tensors with their B, which is left out again where the
// input had none. A ragged batch's is 1 but for the attention weights.
struct RunResult {
  Tensor<float, 4> output_by_heads;  // the operation's, in the files' layout
  Tensor<float, 3> output;           // the layer's
  Tensor<float, 4> attn_weights;     // (B, H | 1, Lq, Lkv)
  Tensor<float, 3> lse;              // (B, H, Lq)
};

// The attention weights that are asked for, of tensors with these sizes.
Extents<4> attn_weights_extents(const AttentionOptions& options,
                                const TensorView<const float, 4>& q,
                                const TensorView<const float, 4>& k) {
  if (options.attn_weights == AttnWeights::none) {
    return {};
  }
  const std::size_t heads =
      options.attn_weights == AttnWeights::mean ? 1 : q.extent(2);
  const Offsets& offsets = options.offsets;
  return offsets.ragged()
             ? Extents<4>{offsets.sequences(), heads, longest(offsets.query),
                          longest(offsets.key)}
             : Extents<4>{q.extent(0), heads, q.extent(1), k.extent(1)};
}

Result<RunResult> run_operation(const RunFlags& flags,
                                const InputArrays& arrays,
                                const AttentionOptions& options) {
  if (Status s = check_inputs(flags, arrays); !s) {
    return s.error();
  }
  auto query = to_float<4>(arrays.query, "run", "--query");
  auto key = to_float<4>(arrays.key, "run", "--key");
  auto value = to_float<4>(arrays.value, "run", "--value");
  if (!query || !key || !value) {
    return !query ? query.error() : !key ? key.error() : value.error();
  }
  const auto as_extents = [&](const auto& view) {
    return flags.heads_first() ? as_blhd(view) : view;
  };
  const auto q = as_extents(std::as_const(*query).view());
  const auto k = as_extents(std::as_const(*key).view());
  const auto v = as_extents(std::as_const(*value).view());
  const auto [B, Lq, H, D] = q.extents();
  const std::size_t Dv = v.extent(3);
  if (options.offsets.ragged()) {
    if (Status s = options.offsets.check(Lq, k.extent(1), "run"); !s) {
      return s.error();
    }
  }

  RunResult result;
  auto output =
      Tensor<float, 4>::create(flags.heads_first() ? Extents<4>{B, H, Lq, Dv}
                                                   : Extents<4>{B, Lq, H, Dv});
  auto attn_weights =
      Tensor<float, 4>::create(attn_weights_extents(options, q, k));
  auto lse = Tensor<float, 3>::create({B, H, Lq});
  if (!output || !attn_weights || !lse) {
    return !output         ? output.error()
           : !attn_weights ? attn_weights.error()
                           : lse.error();
  }
  if (Status s = attention(q, k, v,
                           AttentionOutputs{as_extents(output->view()),
                                            attn_weights->view(), lse->view()},
                           options);
      !s) {
    return s.error();
  }
  return RunResult{
      *std::move(output), {}, *std::move(attn_weights), *std::move(lse)};
}

Result<RunResult> run_layer(const RunFlags& flags, const InputArrays& arrays,
                            const AttentionOptions& options) {
  auto files =
      read_layer(flags.params, *flags.num_heads, flags.num_kv_heads, false);
  if (!files) {
    return files.error();
  }
  if (Status s = check_layer_inputs(flags, arrays, files->layer.config()); !s) {
    return s.error();
  }
  const auto query = to_float<3>(arrays.query, "run", "--query");
  const auto key = to_float<3>(arrays.key, "run", "--key");
  const auto value = to_float<3>(arrays.value, "run", "--value");
  if (!query || !key || !value) {
    return !query ? query.error() : !key ? key.error() : value.error();
  }
  auto result =
      files->layer.forward(query->view(), key->view(), value->view(), options);
  if (!result) {
    return result.error();
  }
  return RunResult{{},
                   std::move(result->output),
                   std::move(result->attn_weights),
                   std::move(result->lse)};
}

// Writes without the axes of extent 1 that the input did not have.
template <std::size_t Rank>
Status write(const std::string& path, const Tensor<float, Rank>& tensor,
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
                   AnyView(tensor.data(), DType::float32, extents, strides));
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
  return s ? Outcome{} : failure_to_write(s.error());
}

Outcome check_flags(const RunFlags& flags) {
  if (flags.is_layer() && !flags.num_heads) {
    return usage("--params needs --num-heads beside it");
  }
  if (!flags.is_layer() && flags.num_heads) {
    return usage(
        "--num-heads is for --params; without it the tensors say how many");
  }
  if (!flags.is_layer() && flags.num_kv_heads) {
    return usage(
        "--num-kv-heads is for --params; without it the tensors say how many");
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
  if (flags.form != "per-head" && flags.attn_weights.empty()) {
    return usage("--attn-weights-form needs --attn-weights FILE beside it");
  }
  const bool same = (flags.out == flags.attn_weights) ||
                    (flags.out == flags.lse) ||
                    (!flags.lse.empty() && flags.lse == flags.attn_weights);
  return same ? Outcome(usage("--out, --attn-weights and --lse name one file, "
                              "expected different ones"))
              : Outcome{};
}

Outcome run_run(const RunFlags& flags) {
  if (Outcome failed = check_flags(flags)) {
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
  if (!flags.attn_weights.empty()) {
    options.attn_weights = kForms.at(flags.form);
  }
  const auto result = flags.is_layer() ? run_layer(flags, *arrays, options)
                                       : run_operation(flags, *arrays, options);
  if (!result) {
    return failure_of(
        as_data(in_option_words(result.error(), flags.operation)));
  }
  return write_results(flags, *result, arrays->batched);
}

void add_tensor_options(CLI::App& command, RunFlags& flags) {
  const auto file = [&](const std::string& name, std::string& path,
                        const std::string& text) {
    command.add_option(name, path, text)
        ->type_name("F.npy")
        ->check(not_empty())
        ->required()
        ->group("Tensors");
  };
  file("--query", flags.query, "(B, Hq, Lq, D), or (Hq, Lq, D)");
  file("--key", flags.key, "(B, Hkv, Lkv, D)");
  file("--value", flags.value, "(B, Hkv, Lkv, Dv)");
  command
      .add_option("--layout", flags.layout,
                  "the axes of the files: bhld (default), or blhd (default "
                  "with --offsets)")
      ->type_name("bhld|blhd")
      ->check(one_of({"bhld", "blhd"}))
      ->group("Tensors");
  add_ragged_options(command, flags.operation);
}

void add_layer_options(CLI::App& command, RunFlags& flags) {
  command
      .add_option("--params", flags.params,
                  "run the layer: w_q.weight.npy, w_q.bias.npy, the same of "
                  "w_k, w_v, w_o, in a folder or a .npz; query, key and value "
                  "are then (B, L, E)")
      ->type_name("DIR|FILE.npz")
      ->check(not_empty())
      ->group("Layer");
  add_count(command, "--num-heads", flags.num_heads, "heads of the layer")
      ->group("Layer");
  add_count(command, "--num-kv-heads", flags.num_kv_heads,
            "heads of keys and values (default: --num-heads)")
      ->group("Layer");
}

void add_output_options(CLI::App& command, RunFlags& flags) {
  const auto file = [&](const std::string& name, std::string& path,
                        const std::string& text) {
    return command.add_option(name, path, text)
        ->type_name("F.npy")
        ->check(not_empty())
        ->group("Output");
  };
  file("--out", flags.out, "write the output, in the layout of the query")
      ->required();
  file("--attn-weights", flags.attn_weights,
       "write the attention weights (B, H, Lq, Lkv)");
  command
      .add_option(
          "--attn-weights-form", flags.form,
          "per-head (default), their mean (B, Lq, Lkv), or as they are after "
          "dropout")
      ->type_name("per-head|mean|after-dropout")
      ->check(one_of({"per-head", "mean", "after-dropout"}))
      ->group("Output");
  file("--lse", flags.lse,
       "write the log-sum-exp of the scores (B, H, Lq), natural log");
}

}  // namespace

void add_run(CLI::App& app, Command& chosen) {
  CLI::App* command =
      add_command(app, "run", "attention on your own tensors (.npy)",
                  std::string(kExamples));
  command->footer(std::string(kAxes));
  auto flags = std::make_shared<RunFlags>();
  add_tensor_options(*command, *flags);
  add_layer_options(*command, *flags);
  add_output_options(*command, *flags);
  add_operation_options(*command, flags->operation);
  command->callback([flags, &chosen] {
    chosen = [flags](const Streams&) { return run_run(*flags); };
  });
}

}  // namespace headwise::cli
