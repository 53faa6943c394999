#include "headwise/onnx/write_layer.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "onnx/layer_graph.h"
#include "onnx/messages.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOperation = "write_onnx_layer";

Status check_kind(const MultiHeadAttentionConfig& config) {
  if (config.scoring == Scoring::additive) {
    return about_layer(ErrorCode::unsupported, "uses additive scoring",
                       "dot products, as in ONNX's Attention");
  }
  if (config.add_bias_kv || config.add_zero_attn) {
    return about_layer(ErrorCode::unsupported,
                       config.add_bias_kv
                           ? "has bias_k (an extra learned key)"
                           : "has an extra zero key (add_zero_attn)",
                       "a layer without added keys");
  }
  if (config.num_heads == 0 && !config.out_proj) {
    return about_layer(ErrorCode::unsupported,
                       "has no heads and no output projection",
                       "at least 1 head");
  }
  if (config.num_heads > 0 && config.head_dim == std::size_t{0}) {
    return about_layer(ErrorCode::unsupported, "has a head size of 0",
                       "a head size of at least 1");
  }
  return ok();
}

std::vector<const Linear*> linears(const MultiHeadAttentionParams& params) {
  std::vector<const Linear*> list{&params.w_q, &params.w_k};
  for (const auto* optional : {&params.w_v, &params.w_o}) {
    if (*optional) {
      list.push_back(&**optional);
    }
  }
  return list;
}

Status check_params(const MultiHeadAttention& layer) {
  if (!layer.params()) {
    return about_layer(ErrorCode::invalid_argument,
                       "has an input size that is not set",
                       "a layer whose sizes are set with fix_sizes()");
  }
  return keeps_params(*layer.params())
             ? ok()
             : Status(about_layer(ErrorCode::invalid_argument,
                                  "keeps only packed parameters",
                                  "a layer without Linear::for_inference()"));
}

// The same ranges as attention(), and no scale that ONNX Runtime refuses.
Status check_layer_numbers(const OnnxLayerOptions& options) {
  const auto number_error = [](std::string name, double value,
                               Message expected) {
    return Error(ErrorCode::invalid_argument,
                 ErrorDetails{.operation = std::string(kOperation),
                              .argument = std::move(name),
                              .given = message("is {}", number_text(value)),
                              .expected = std::move(expected)});
  };
  if (options.scale && !(*options.scale >= 1e-37 && *options.scale <= 2e38)) {
    return number_error("scale", *options.scale, "1e-37 to 2e38");
  }
  if (options.softcap &&
      !(*options.softcap >= 1e-37 && *options.softcap <= 2e38)) {
    return number_error("softcap", *options.softcap, "1e-37 to 2e38");
  }
  if (options.positions == 0) {
    return number_error("positions", 0, "at least 1");
  }
  return ok();
}

// Before the graph takes memory; write_graph() checks the rest.
Status check_bytes(const MultiHeadAttention& layer,
                   const OnnxLayerOptions& options) {
  constexpr double kMostFloats = (1 << 29) - (1 << 20);
  const MultiHeadAttentionParams& params = *layer.params();
  double floats = 0;  // so that no product overflows
  for (const Linear* linear : linears(params)) {
    floats += static_cast<double>(linear->in_features()) *
              static_cast<double>(linear->out_features());
  }
  if (const auto& rotary = layer.config().rotary) {
    floats += static_cast<double>(std::min<std::uint64_t>(
                  options.positions, rotary->positions())) *
              static_cast<double>(rotary->rotary_dim());
  }
  return floats <= kMostFloats ? ok() : Status(layer_beyond_file_limit());
}

}  // namespace

Error about_layer(ErrorCode code, Message given, Message expected) {
  return {code, ErrorDetails{.operation = std::string(kOperation),
                             .argument = "layer",
                             .given = std::move(given),
                             .expected = std::move(expected)}};
}

Error layer_beyond_file_limit() {
  return about_layer(ErrorCode::unsupported, "needs 2 GiB or more",
                     "less than 2 GiB, the ONNX file limit");
}

Status write_onnx_layer(const std::string& path,
                        const MultiHeadAttention& layer,
                        const OnnxLayerOptions& options) {
  return catching_out_of_memory([&]() -> Status {
    HEADWISE_TRY(check_kind(layer.config()));
    HEADWISE_TRY(check_params(layer));
    HEADWISE_TRY(check_layer_numbers(options));
    HEADWISE_TRY(check_bytes(layer, options));
    HEADWISE_ASSIGN(const auto graph, layer_graph(layer, options));
    return write_graph(path, graph);
  });
}

}  // namespace headwise::inline HEADWISE_ABI
