#include "onnx_result.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headwise::cli {

std::size_t OnnxResult::compared() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      outputs, [](const auto& each) { return each.difference.has_value(); }));
}

std::size_t OnnxResult::differing() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(outputs, [](const auto& each) {
        return each.difference && !each.difference->agrees();
      }));
}

const OnnxOutput* OnnxResult::worst() const {
  const OnnxOutput* worst = nullptr;
  for (const OnnxOutput& output : outputs) {
    if (!output.difference || output.difference->agrees()) {
      continue;
    }
    if (!output.difference->same_kind) {
      return &output;
    }
    if (worst == nullptr || std::isnan(output.difference->largest) ||
        output.difference->largest > worst->difference->largest) {
      worst = &output;
    }
  }
  return worst;
}

Result<OnnxResult> run_onnx(const OnnxModel& model, OnnxData data,
                            const Executor& executor,
                            Tolerance (*tolerance)(DType),
                            std::optional<std::size_t> memory_limit) {
  HEADWISE_ASSIGN(auto arrays, model.run(data.inputs, &executor, memory_limit));
  OnnxResult result;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    OnnxOutput output{.name = model.outputs()[i].name,
                      .array = std::move(arrays[i]),
                      .expected = std::move(data.outputs[i]),
                      .difference = {}};
    if (output.expected) {
      HEADWISE_ASSIGN(output.difference,
                      difference(output.array, *output.expected,
                                 tolerance(output.array.dtype)));
    }
    result.outputs.push_back(std::move(output));
  }
  return result;
}

}  // namespace headwise::cli
