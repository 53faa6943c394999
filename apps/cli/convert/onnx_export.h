// `headwise convert --to onnx`: a layer as an ONNX model.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "headwise/interop/convert_params.h"
#include "operation/qk_norm_flags.h"
#include "operation/rotary_flags.h"
#include "shell/command.h"
#include "shell/file_plan.h"
#include "shell/outcome.h"

namespace headwise::cli {

class Arguments;

inline constexpr std::string_view kToOnnx = "onnx";

// As typed; an empty string is an option that was not given.
struct OnnxExportFlags {
  bool cross_attention = false;
  bool causal = false;
  std::string mask;
  std::optional<double> scale;
  std::optional<double> softcap;
  std::optional<std::size_t> positions;
  QkNormFlags qk_norm;
  RotaryFlags rotary;
};

void add_onnx_options(const Arguments& command, OnnxExportFlags& flags);

// The arguments that all `--to` targets share.
struct LayerToExport {
  const std::string& in;
  const std::string& out;
  const ConvertOptions& options;  // layer, from and num_heads
};

// Writes the model and prints a line about it.
Outcome export_onnx(const LayerToExport& layer, const OnnxExportFlags& flags,
                    const FilePlan& files, const Streams& streams);

}  // namespace headwise::cli
