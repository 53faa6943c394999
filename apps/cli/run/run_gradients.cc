#include "run_gradients.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <system_error>

#include "headwise/interop/npy.h"
#include "operation/option_errors.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

Status check_shape_of(std::string_view option,
                      const std::vector<std::size_t>& given, bool batched,
                      std::vector<std::size_t> expected, std::string_view of) {
  if (!batched) {
    expected.erase(expected.begin());
  }
  return given == expected
             ? ok()
             : Status(option_error(
                   option,
                   message("has shape ({})",
                           fmt::format("{}", fmt::join(given, ", "))),
                   message("that of {}, ({})", Message(of),
                           fmt::format("{}", fmt::join(expected, ", "))),
                   ErrorCode::shape_mismatch));
}

constexpr std::string_view kDOutput = "--d-output";
constexpr std::string_view kOfOutput = "the output";

Result<Array> read_upstream_file(std::string_view option,
                                 const std::string& path, bool batched,
                                 std::vector<std::size_t> expected,
                                 std::string_view of) {
  HEADWISE_ASSIGN(auto array, read_file_of(option, path));
  HEADWISE_TRY(
      check_shape_of(option, array.shape, batched, std::move(expected), of));
  if (!batched) {
    array.shape.insert(array.shape.begin(), 1);
  }
  return array;
}

}  // namespace

Result<UpstreamFiles> read_upstream(const RunFlags& flags, bool batched,
                                    std::vector<std::size_t> output,
                                    const Extents<4>& attn_weights) {
  UpstreamFiles upstream;
  HEADWISE_ASSIGN(upstream.d_output,
                  read_upstream_file(kDOutput, flags.d_output, batched,
                                     std::move(output), kOfOutput));
  HEADWISE_ASSIGN(upstream.d_attn_weights,
                  read_d_attn_weights(flags, batched, attn_weights));
  return upstream;
}

Result<TensorFile> open_d_output(const RunFlags& flags, bool batched,
                                 std::vector<std::size_t> output) {
  HEADWISE_ASSIGN(auto file, TensorFile::open(kDOutput, flags.d_output));
  HEADWISE_TRY(check_shape_of(kDOutput, file.shape(), batched,
                              std::move(output), kOfOutput));
  return file;
}

Result<Tensor<float, 4>> read_d_attn_weights(const RunFlags& flags,
                                             bool batched,
                                             const Extents<4>& attn_weights) {
  if (flags.d_attn_weights.empty()) {
    return Tensor<float, 4>();
  }
  const auto [B, heads, Lq, Lkv] = attn_weights;
  const bool mean = flags.weights_form() == "mean";
  HEADWISE_ASSIGN(
      auto array,
      read_upstream_file(
          "--d-attn-weights", flags.d_attn_weights, batched || flags.ragged(),
          mean ? std::vector{B, Lq, Lkv} : std::vector{B, heads, Lq, Lkv},
          "the attention weights"));
  if (mean) {
    array.shape.insert(array.shape.begin() + 1, 1);
  }
  return to_float<4>(array, "run", "--d-attn-weights");
}

Result<BiasGradient> make_bias_gradient(const Bias& bias) {
  BiasGradient gradient;
  if (!bias.given()) {
    return gradient;
  }
  const NamedAxes& axes = bias.axes();
  HEADWISE_ASSIGN(auto elements,
                  Tensor<float, 1>::create({element_count(axes.extents())}));
  gradient.shape.assign(axes.extents().begin(), axes.extents().end());
  gradient.elements = std::move(elements);
  gradient.by_scores = by_scores(gradient.elements.data(), axes.extents(),
                                 row_major(axes.extents()), axes.axes());
  return gradient;
}

Result<std::vector<NamedGradient>> named_gradients(
    MultiHeadAttentionGradients gradients, const Bias& bias, bool batched) {
  HEADWISE_ASSIGN(auto d_bias, make_bias_gradient(bias));
  std::vector<NamedGradient> named_ones;
  named_ones.push_back(named("d_query", std::move(gradients.query), batched));
  named_ones.push_back(named("d_key", std::move(gradients.key), batched));
  named_ones.push_back(named("d_value", std::move(gradients.value), batched));
  const auto add = [&](const std::string& name, auto& gradient) {
    if (gradient.size() != 0) {
      named_ones.push_back(named("d_" + name, std::move(gradient), true));
    }
  };
  const auto add_params = [&](const std::string& name, auto& params) {
    named_ones.push_back(
        named("d_" + name + ".weight", std::move(params.weight), true));
    add(name + ".bias", params.bias);
  };
  add_params("w_q", gradients.w_q);
  add_params("w_k", gradients.w_k);
  if (gradients.w_v.weight.size() != 0) {
    add_params("w_v", gradients.w_v);
  }
  if (gradients.w_o) {
    add_params("w_o", *gradients.w_o);
  }
  add("w_score.weight", gradients.w_score);
  if (gradients.q_norm) {
    add_params("q_norm", *gradients.q_norm);
    add_params("k_norm", *gradients.k_norm);
  }
  if (bias.given()) {
    const auto [B, H, Lq, Lkv] = gradients.bias.extents();
    for (std::size_t n = 0; n < gradients.bias.size(); ++n) {
      d_bias.by_scores(n / Lkv / Lq / H, n / Lkv / Lq % H, n / Lkv % Lq,
                       n % Lkv) = gradients.bias.data()[n];
    }
    named_ones.push_back(
        {"d_bias", std::move(d_bias.shape), std::move(d_bias.elements)});
  }
  add("t5_bias", gradients.t5_bias);
  add("alibi", gradients.alibi);
  add("sinks", gradients.sinks);
  add("bias_k", gradients.bias_k);
  add("bias_v", gradients.bias_v);
  return named_ones;
}

std::vector<std::string> gradient_files() {
  std::vector<std::string> names;
  for (const char* of :
       {"query",          "key",           "value",       "bias",
        "t5_bias",        "alibi",         "sinks",       "score_weight",
        "w_q.weight",     "w_q.bias",      "w_k.weight",  "w_k.bias",
        "w_v.weight",     "w_v.bias",      "w_o.weight",  "w_o.bias",
        "w_score.weight", "q_norm.weight", "q_norm.bias", "k_norm.weight",
        "k_norm.bias",    "bias_k",        "bias_v"}) {
    names.push_back(fmt::format("d_{}.npy", of));
  }
  return names;
}

Status make_folder(std::string_view option, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  return failed ? Status(system_error(
                      {.operation = std::string(option), .file = folder},
                      failed.value()))
                : ok();
}

Status write_gradients(const std::string& folder,
                       const std::vector<NamedGradient>& gradients) {
  HEADWISE_TRY(make_folder("--grad-dir", folder));
  for (const NamedGradient& gradient : gradients) {
    HEADWISE_TRY(write_npy(
        (std::filesystem::path(folder) / (gradient.name + ".npy")).string(),
        AnyView(gradient.elements.data(), DType::float32, gradient.shape)));
  }
  return ok();
}

}  // namespace headwise::cli
