// headwise run
// Attention on the user's own tensors: the operation on (B, H, L, D), or with
// --params the layer on (B, L, E).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <utility>

#include "args.h"
#include "command.h"
#include "headwise/attention/forward.h"
#include "headwise/interop/npy.h"
#include "layer_params.h"
#include "operation_inputs.h"

namespace headwise::cli {
namespace {

constexpr std::string_view kExamples =
    R"(  headwise run --query q.npy --key k.npy --value v.npy --out out.npy
  headwise run --query q.npy --key k.npy --value v.npy --causal --out out.npy \
      --attn-weights a.npy --lse lse.npy
  headwise run --query x.npy --key x.npy --value x.npy --params layer/ \
      --num-heads 8 --key-lengths lengths.npy --out out.npy)";

const std::map<std::string, AttnWeights> kForms = {
    {"per-head", AttnWeights::per_head},
    {"mean", AttnWeights::mean},
    {"after-dropout", AttnWeights::after_dropout}};

struct RunFlags {
  std::string query;
  std::string key;
  std::string value;
  std::string params;
  std::optional<std::size_t> num_heads;
  std::optional<std::size_t> num_kv_heads;
  std::string layout = "bhld";
  OperationFlags operation;
  std::string form = "per-head";
  std::string out;
  std::string attn_weights;
  std::string lse;
};

struct InputArrays {
  Array query;
  Array key;
  Array value;
  bool batched;
};

// What is written: tensors with their B, which is left out again where the
// input had none.
struct RunResult {
  Tensor<float, 4> output_by_heads;  // the operation's, in the files' layout
  Tensor<float, 3> output;           // the layer's
  Tensor<float, 4> attn_weights;     // (B, H | 1, Lq, Lkv)
  Tensor<float, 3> lse;              // (B, H, Lq)
};

Result<InputArrays> read_inputs(const RunFlags& flags) {
  auto query = read_npy(flags.query);
  if (!query) {
    return query.error();
  }
  auto key = read_npy(flags.key);
  if (!key) {
    return key.error();
  }
  auto value = read_npy(flags.value);
  if (!value) {
    return value.error();
  }
  const std::size_t batched_rank = flags.params.empty() ? 4 : 3;
  const std::size_t rank = query->shape.size();
  const std::string_view expected =
      !flags.params.empty()    ? "(B, L, E) or (L, E)"
      : flags.layout == "bhld" ? "(B, H, L, D) or (H, L, D)"
                               : "(B, L, H, D) or (L, H, D)";
  for (const auto& [name, array] : {std::pair{"--query", &*query},
                                    {"--key", &*key},
                                    {"--value", &*value}}) {
    if (array->shape.size() != rank ||
        (rank != batched_rank && rank + 1 != batched_rank)) {
      return Error{ErrorCode::shape_mismatch,
                   fmt::format("run: {} has shape ({}), expected {}, the same "
                               "for --query, --key and --value",
                               name, fmt::join(array->shape, ", "), expected)};
    }
    if (rank + 1 == batched_rank) {
      array->shape.insert(array->shape.begin(), 1);
    }
  }
  return InputArrays{*std::move(query), *std::move(key), *std::move(value),
                     rank == batched_rank};
}

// Whether the tensors of the operation fit together, in the axes of the files:
// the library would speak of its own.
Status check_inputs(const RunFlags& flags, const InputArrays& arrays) {
  const bool bhld = flags.layout == "bhld";
  const std::size_t heads = bhld ? 1 : 2;
  const auto& query = arrays.query.shape;
  const auto& key = arrays.key.shape;
  const auto& value = arrays.value.shape;
  const auto check = [&](std::string_view name, std::vector<std::size_t> given,
                         std::vector<std::size_t> expected,
                         std::string_view axes) -> Status {
    if (given == expected) {
      return ok();
    }
    if (!arrays.batched) {
      given.erase(given.begin());
      expected.erase(expected.begin());
    }
    return Error{
        ErrorCode::shape_mismatch,
        fmt::format("run: {} has shape ({}), expected ({}{}) = ({})", name,
                    fmt::join(given, ", "), arrays.batched ? "B, " : "", axes,
                    fmt::join(expected, ", "))};
  };
  std::vector<std::size_t> expected = {query[0], key[1], key[2], query[3]};
  if (Status s =
          check("--key", key, expected, bhld ? "Hkv, Lkv, D" : "Lkv, Hkv, D");
      !s) {
    return s;
  }
  expected = {query[0], key[1], key[2], value[3]};
  if (Status s = check("--value", value, expected,
                       bhld ? "Hkv, Lkv, Dv" : "Lkv, Hkv, Dv");
      !s) {
    return s;
  }
  if (key[heads] == 0 || query[heads] % key[heads] != 0) {
    return Error{ErrorCode::shape_mismatch,
                 fmt::format("run: --query has {} heads, expected a multiple "
                             "of the {} of --key",
                             query[heads], key[heads])};
  }
  return ok();
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
    return flags.layout == "bhld" ? as_blhd(view) : view;
  };
  const auto q = as_extents(std::as_const(*query).view());
  const auto k = as_extents(std::as_const(*key).view());
  const auto v = as_extents(std::as_const(*value).view());
  const auto [B, Lq, H, D] = q.extents();
  const std::size_t Lkv = k.extent(1);
  const std::size_t Dv = v.extent(3);

  RunResult result;
  auto output = Tensor<float, 4>::create(flags.layout == "bhld"
                                             ? Extents<4>{B, H, Lq, Dv}
                                             : Extents<4>{B, Lq, H, Dv});
  Extents<4> weights{};
  if (options.attn_weights != AttnWeights::none) {
    weights = {B, options.attn_weights == AttnWeights::mean ? 1 : H, Lq, Lkv};
  }
  auto attn_weights = Tensor<float, 4>::create(weights);
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
  Status s = flags.params.empty()
                 ? write(flags.out, result.output_by_heads, batched)
                 : write(flags.out, result.output, batched);
  if (s && !flags.attn_weights.empty()) {
    s = write(flags.attn_weights, result.attn_weights, batched,
              flags.form != "mean");
  }
  if (s && !flags.lse.empty()) {
    s = write(flags.lse, result.lse, batched);
  }
  return s ? Outcome{} : failure_to_write(s.error());
}

Outcome check_flags(const RunFlags& flags) {
  if (!flags.params.empty() && !flags.num_heads) {
    return usage("--params needs --num-heads beside it");
  }
  if (flags.params.empty() && flags.num_heads) {
    return usage(
        "--num-heads is for --params; without it the tensors say how many");
  }
  if (flags.params.empty() && flags.num_kv_heads) {
    return usage(
        "--num-kv-heads is for --params; without it the tensors say how many");
  }
  if (!flags.params.empty() && flags.layout != "bhld") {
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
  const std::size_t heads_axis = flags.layout == "bhld" ? 1 : 2;
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
  const auto result = flags.params.empty()
                          ? run_operation(flags, *arrays, options)
                          : run_layer(flags, *arrays, options);
  if (!result) {
    return failure_of(as_data(result.error()));
  }
  return write_results(flags, *result, arrays->batched);
}

}  // namespace

void add_run(CLI::App& app, Command& chosen) {
  CLI::App* command =
      add_command(app, "run", "attention on your own tensors (.npy)",
                  std::string(kExamples));
  auto flags = std::make_shared<RunFlags>();
  const auto file = [&](const std::string& name, std::string& path,
                        const std::string& text) {
    return command->add_option(name, path, text)
        ->type_name("F.npy")
        ->check(not_empty());
  };
  file("--query", flags->query, "(B, H, Lq, D), or (H, Lq, D)")->required();
  file("--key", flags->key, "(B, H, Lkv, D)")->required();
  file("--value", flags->value, "(B, H, Lkv, Dv)")->required();
  command
      ->add_option("--layout", flags->layout,
                   "the axes of the files: bhld (default) or blhd")
      ->type_name("bhld|blhd")
      ->check(one_of({"bhld", "blhd"}));
  command
      ->add_option("--params", flags->params,
                   "run the layer: then query, key and value are (B, L, E)")
      ->type_name("DIR|FILE.npz")
      ->check(not_empty());
  command->add_option("--num-heads", flags->num_heads, "heads of the layer")
      ->type_name("N")
      ->transform(at_least_one());
  command
      ->add_option("--num-kv-heads", flags->num_kv_heads,
                   "heads of keys and values (default: --num-heads)")
      ->type_name("N")
      ->transform(at_least_one());
  file("--out", flags->out, "write the output")->required();
  file("--attn-weights", flags->attn_weights,
       "write the attention weights (B, H, Lq, Lkv)");
  command
      ->add_option("--attn-weights-form", flags->form,
                   "per-head (default), their mean, or after dropout")
      ->type_name("per-head|mean|after-dropout")
      ->check(one_of({"per-head", "mean", "after-dropout"}));
  file("--lse", flags->lse, "write the log-sum-exp (B, H, Lq), natural log");
  add_operation_options(*command, flags->operation);
  command->callback([flags, &chosen] {
    chosen = [flags](const Streams&) { return run_run(*flags); };
  });
}

}  // namespace headwise::cli
