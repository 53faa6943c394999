#include "headwise/onnx/model.h"

#include <deque>
#include <map>
#include <new>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "onnx/graph.h"
#include "onnx/messages.h"
#include "onnx/node_call.h"
#include "onnx/operators.h"
#include "onnx/shown_text.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// "(2, ?, 8)"
std::string declared_text(
    const std::vector<std::optional<std::size_t>>& shape) {
  std::string text = "(";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    text += axis == 0 ? "" : ", ";
    text += shape[axis] ? std::to_string(*shape[axis]) : "?";
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

bool fits(const std::vector<std::size_t>& shape,
          const std::vector<std::optional<std::size_t>>& declared) {
  if (shape.size() != declared.size()) {
    return false;
  }
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (declared[axis] && *declared[axis] != shape[axis]) {
      return false;
    }
  }
  return true;
}

// The values of a run, by name. Each is kept until its last use.
class Run {
 public:
  Run(const OnnxGraph& graph, const Executor* executor)
      : graph_(graph), executor_(executor) {
    for (const OnnxNode& node : graph.nodes) {
      for (const std::string& input : node.inputs) {
        ++uses_[input];
      }
    }
    for (const OnnxPort& output : graph.outputs) {
      ++uses_[output.name];
    }
    for (const auto& [name, array] : graph.initializers) {
      values_[name] = &array;
    }
  }

  Status take_inputs(std::span<const Array> inputs) {
    if (inputs.size() != graph_.inputs.size()) {
      return file().error(
          ErrorCode::invalid_argument,
          "is given " + std::to_string(inputs.size()) + " inputs",
          std::to_string(graph_.inputs.size()));
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      HEADWISE_TRY(check_port(graph_.inputs[i], inputs[i]));
      values_[graph_.inputs[i].name] = &inputs[i];
    }
    return ok();
  }

  Status run_nodes() {
    for (const OnnxNode& node : graph_.nodes) {
      HEADWISE_TRY(run_node(node));
    }
    return ok();
  }

  Result<std::vector<Array>> outputs() const {
    std::vector<Array> outputs;
    for (const OnnxPort& port : graph_.outputs) {
      const Array& value = *values_.at(port.name);
      HEADWISE_TRY(check_port(port, value));
      outputs.push_back(value);
    }
    return outputs;
  }

 private:
  FileSubject file() const {
    return {.operation = "run_onnx", .file = graph_.file};
  }

  Status check_port(const OnnxPort& port, const Array& array) const {
    const FileSubject subject = file().of_entry(shown(port.name));
    if (port.dtype && *port.dtype != array.dtype) {
      return subject.error(
          ErrorCode::invalid_argument,
          "holds " + std::string(name_of(array.dtype)) + " elements",
          std::string(name_of(*port.dtype)) + " as the model declares it");
    }
    if (port.shape && !fits(array.shape, *port.shape)) {
      return subject.error(
          ErrorCode::shape_mismatch, "has shape " + shape_text(array.shape),
          declared_text(*port.shape) + " as the model declares it");
    }
    if (array.shape.size() > kMostOnnxAxes) {
      return subject.error(
          ErrorCode::unsupported,
          "has " + std::to_string(array.shape.size()) + " axes",
          "at most 8 axes");
    }
    return ok();
  }

  Status run_node(const OnnxNode& node) {
    std::vector<const Array*> inputs;
    for (const std::string& name : node.inputs) {
      inputs.push_back(name.empty() ? nullptr : values_.at(name));
    }
    auto made =
        find_operator(node)->run(NodeCall(graph_, node, inputs, executor_));
    HEADWISE_TRY(made);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].empty() && uses_.contains(node.outputs[i])) {
        made_.emplace_back(std::move((*made)[i]));
        values_[node.outputs[i]] = &made_.back();
      }
    }
    for (const std::string& name : node.inputs) {
      release(name);
    }
    return ok();
  }

  // Gives back the memory of a value that is not used again.
  void release(const std::string& name) {
    if (--uses_[name] > 0) {
      return;
    }
    for (Array& array : made_) {
      if (&array == values_[name]) {
        array.data = {};
      }
    }
  }

  const OnnxGraph& graph_;
  const Executor* executor_;
  std::map<std::string_view, std::size_t> uses_;
  std::map<std::string_view, const Array*> values_;
  std::deque<Array> made_;  // addresses stay
};

}  // namespace

Result<OnnxModel> OnnxModel::read(const std::string& path) try {
  auto graph = read_graph(path);
  HEADWISE_TRY(graph);
  HEADWISE_TRY(check_graph(*graph));
  return OnnxModel(std::make_shared<const OnnxGraph>(*std::move(graph)));
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory};
}

std::span<const OnnxPort> OnnxModel::inputs() const { return graph_->inputs; }
std::span<const OnnxPort> OnnxModel::outputs() const { return graph_->outputs; }

Result<std::vector<Array>> OnnxModel::run(std::span<const Array> inputs,
                                          const Executor* executor) const try {
  Run run(*graph_, executor);
  HEADWISE_TRY(run.take_inputs(inputs));
  HEADWISE_TRY(run.run_nodes());
  return run.outputs();
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory};
}

Result<Array> read_onnx_tensor(const std::string& path) try {
  return read_tensor_message(path);
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory};
}

}  // namespace headwise::inline HEADWISE_ABI
