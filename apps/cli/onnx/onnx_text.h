// Reports of a model that ran.
#pragma once

#include <string>

#include "onnx_result.h"
#include "shell/json.h"

namespace headwise::cli {

// One line per output.
std::string onnx_text(const OnnxResult& result);
Json onnx_json(const std::string& model, const OnnxResult& result);
// "Y differs in 3 of 192 elements, most at (0, 1, 2, 3): 0.25, expected 0.5"
std::string difference_text(const OnnxOutput& output);

}  // namespace headwise::cli
