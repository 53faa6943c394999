// ONNX models that consist of attention and of what surrounds it in an exported
// layer: read, checked and run. docs/onnx.md lists the operators.
//
// read() checks what every model needs: sizes before memory is allocated,
// names, the order of the nodes, the opset, and the nodes whose operator
// headwise knows. It takes models that headwise cannot run: attention_nodes()
// shows them, operators_not_run() says why, and run() is an error. External
// data is read only from regular files in the folder of the model, never
// through links or paths that leave it.
//
// Errors: io_error; bad_data for a damaged file or a file of another kind;
// unsupported for types and other parts of ONNX that headwise does not read, in
// run() and attention() for operators that it does not run, and in a build
// without ONNX; shape_mismatch and invalid_argument for
// inputs that do not fit; out_of_memory. They name the node and its input:
//   run_onnx: model.onnx: attn (Attention): mask has shape (2, 5), expected ...
//
// Example:
//   Result<OnnxModel> model = OnnxModel::read("model.onnx");
//   Result<std::vector<Array>> outputs = model->run(inputs);
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headwise/base/dtype.h"
#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "headwise/onnx/attention.h"
#include "headwise/run/executor.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// An input or an output, as the model declares it.
struct OnnxPort {
  std::string name{};
  std::optional<DType> dtype{};
  // No value: any rank. An axis without a value: any extent.
  std::optional<std::vector<std::optional<std::size_t>>> shape{};
};

struct OnnxGraph;

class OnnxModel {
 public:
  static Result<OnnxModel> read(const std::string& path);

  // In the order of the graph. Inputs that have an initializer are left out.
  std::span<const OnnxPort> inputs() const;
  std::span<const OnnxPort> outputs() const;

  // In the order in which they run. Errors: out_of_memory.
  Result<std::vector<OnnxAttentionNode>> attention_nodes() const;

  // The operators that run() refuses, or nodes of which have attributes that it
  // refuses: "LSTM", "com.microsoft QAttention". Sorted, each once. Errors:
  // out_of_memory.
  Result<std::vector<std::string>> operators_not_run() const;

  // Takes one array per input and returns one per output, in the order of
  // inputs() and outputs(). Each array must have the type that the model
  // declares. `executor`: null for Executor::default_executor().
  // `memory_limit`: bytes of the tensors that nodes make and that are held at a
  // time; by default 16 MiB, plus 16 times the inputs and the tensors of the
  // model, plus the outputs as they are declared.
  Result<std::vector<Array>> run(
      std::span<const Array> inputs, const Executor* executor = nullptr,
      std::optional<std::size_t> memory_limit = {}) const;

  // The inputs of attention nodes (attention.h). `nodes` are numbers in
  // attention_nodes(), ascending. Runs the model up to the last of them, as
  // run() does; what is returned counts among the tensors that are held. Errors
  // also: out_of_range for numbers that do not ascend or name no node.
  Result<std::vector<OnnxAttention>> attention(
      std::span<const Array> inputs, std::span<const std::size_t> nodes,
      const Executor* executor = nullptr,
      std::optional<std::size_t> memory_limit = {}) const;

 private:
  explicit OnnxModel(std::shared_ptr<const OnnxGraph> graph)
      : graph_(std::move(graph)) {}

  std::shared_ptr<const OnnxGraph> graph_;
};

// Reads a file that holds one tensor (TensorProto), as in ONNX's test data.
Result<Array> read_onnx_tensor(const std::string& path);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
