// A model that ran on its data: its outputs and how far they are from the
// expected ones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "headwise/onnx/arrays.h"
#include "headwise/onnx/model.h"
#include "headwise/run/executor.h"
#include "shell/onnx_data.h"

namespace headwise::cli {

struct OnnxOutput {
  std::string name;
  Array array;
  std::optional<Array> expected;
  std::optional<ArrayDifference> difference;  // only with an expected output
};

struct OnnxResult {
  std::vector<OnnxOutput> outputs;

  std::size_t compared() const;
  std::size_t differing() const;  // outputs
  // The output that differs most, or null. An output of a wrong type or shape
  // comes first.
  const OnnxOutput* worst() const;
};

// `tolerance` gives the tolerance for an output's type. `memory_limit`: see
// OnnxModel::run.
Result<OnnxResult> run_onnx(const OnnxModel& model, OnnxData data,
                            const Executor& executor,
                            Tolerance (*tolerance)(DType),
                            std::optional<std::size_t> memory_limit = {});

}  // namespace headwise::cli
