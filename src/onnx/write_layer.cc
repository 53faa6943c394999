#include "headwise/onnx/write_layer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/out_of_memory.h"
#include "onnx/layer_graph.h"
#include "onnx/messages.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOperation = "write_onnx_layer";

Error about_layer(ErrorCode code, std::string given, std::string expected) {
  return {code, ErrorDetails{.operation = std::string(kOperation),
                             .argument = "layer",
                             .given = std::move(given),
                             .expected = std::move(expected)}};
}

Status check_kind(const MultiHeadAttentionConfig& config) {
  if (config.scoring == Scoring::additive) {
    return about_layer(ErrorCode::unsupported, "has additive scoring",
                       "dot products, as in ONNX's Attention");
  }
  if (config.add_bias_kv || config.add_zero_attn) {
    return about_layer(ErrorCode::unsupported,
                       config.add_bias_kv ? "has bias_k, an added key"
                                          : "has an added key of zeros",
                       "a layer without added keys");
  }
  if (config.num_heads == 0 && !config.out_proj) {
    return about_layer(ErrorCode::unsupported,
                       "has no heads and no output projection",
                       "at least 1 head");
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
                       "has an input size that is still open",
                       "a layer after fix_sizes()");
  }
  const MultiHeadAttentionParams& params = *layer.params();
  for (const Linear* linear : linears(params)) {
    if (linear->weight().extent(0) != linear->out_features()) {
      return about_layer(ErrorCode::invalid_argument,
                         "has packed parameters only",
                         "a layer without Linear::for_inference()");
    }
  }
  return ok();
}

// Those of a call of the operation.
Status check_numbers(const OnnxLayerOptions& options) {
  const auto number_error = [](std::string name, double value,
                               std::string expected) {
    return Error(ErrorCode::invalid_argument,
                 ErrorDetails{.operation = std::string(kOperation),
                              .argument = std::move(name),
                              .given = "is " + std::to_string(value),
                              .expected = std::move(expected)});
  };
  if (options.scale && !std::isfinite(static_cast<float>(*options.scale))) {
    return number_error("scale", *options.scale, "a finite number");
  }
  if (options.softcap &&
      !(*options.softcap >= 1e-37 && *options.softcap <= 2e38)) {
    return number_error("softcap", *options.softcap, "1e-37 to 2e38");
  }
  return ok();
}

// protobuf's messages hold less than 2 GiB; names and nodes take a few KiB.
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
  return floats <= kMostFloats
             ? ok()
             : about_layer(ErrorCode::unsupported, "takes 2 GiB or more",
                           "less, the limit of ONNX files");
}

}  // namespace

Status write_onnx_layer(const std::string& path,
                        const MultiHeadAttention& layer,
                        const OnnxLayerOptions& options) {
  return catching_out_of_memory([&]() -> Status {
    HEADWISE_TRY(check_kind(layer.config()));
    HEADWISE_TRY(check_params(layer));
    HEADWISE_TRY(check_numbers(options));
    HEADWISE_TRY(check_bytes(layer, options));
    const auto graph = layer_graph(layer, options);
    HEADWISE_TRY(graph);
    return write_graph(path, *graph);
  });
}

}  // namespace headwise::inline HEADWISE_ABI
