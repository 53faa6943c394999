#include "headwise/onnx/model.h"

#include <algorithm>
#include <limits>
#include <map>
#include <new>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "headwise/base/checked_product.h"
#include "onnx/attend.h"
#include "onnx/attention_facts.h"
#include "onnx/fusion_tensors.h"
#include "onnx/graph.h"
#include "onnx/messages.h"
#include "onnx/node_call.h"
#include "onnx/node_memory.h"
#include "onnx/operators.h"
#include "onnx/seen_attention.h"
#include "onnx/shown_text.h"
#include "onnx/tensor_data.h"

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
  return std::ranges::equal(shape, declared, [](std::size_t is, auto wanted) {
    return is == wanted.value_or(is);
  });
}

// Of an output whose shape the model declares; 0 for one that cannot be
// counted.
std::size_t declared_bytes(const OnnxPort& port) {
  if (!port.shape || !port.dtype) {
    return 0;
  }
  std::vector<std::size_t> factors{size_of(*port.dtype)};
  for (const auto& extent : *port.shape) {
    factors.push_back(extent.value_or(0));
  }
  return checked_product(factors).value_or(0);
}

// 16 MiB and 16 times the tensors that are given, and the declared outputs.
std::size_t usual_limit(const OnnxGraph& graph, std::span<const Array> inputs) {
  std::size_t given = 0;
  for (const Array& input : inputs) {
    given += input.data.size();
  }
  for (const auto& [name, array] : graph.initializers) {
    given += array.data.size();
  }
  for (const OnnxNode& node : graph.nodes) {
    for (const OnnxAttribute& attribute : node.attributes) {
      const auto* array = std::get_if<Array>(&attribute.value);
      given += array == nullptr ? 0 : array->data.size();
    }
  }
  std::size_t limit = (std::size_t{16} << 20) + 16 * given;
  for (const OnnxPort& output : graph.outputs) {
    const std::size_t more = declared_bytes(output);
    limit += std::min(more, std::numeric_limits<std::size_t>::max() - limit);
  }
  return limit;
}

// The values of a run, by name. Each is kept until its last use.
class Run {
 public:
  // `memory_limit`: bytes of all values together that nodes make.
  Run(const OnnxGraph& graph, const Executor* executor,
      std::size_t memory_limit)
      : graph_(graph),
        executor_(executor),
        memory_limit_(memory_limit),
        fusion_of_(graph.nodes.size()) {
    for (const OnnxFusion& fusion : graph.fusions) {
      for (const std::size_t n : fusion.nodes) {
        fusion_of_[n] = &fusion;
      }
    }
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
      return file().error(ErrorCode::invalid_argument,
                          message("is given {} inputs", inputs.size()),
                          std::to_string(graph_.inputs.size()));
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      HEADWISE_TRY(check_port(graph_.inputs[i], inputs[i]));
      values_[graph_.inputs[i].name] = &inputs[i];
    }
    return ok();
  }

  Status run_nodes() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      HEADWISE_TRY(run_number(n));
    }
    return ok();
  }

  // Runs the nodes up to the last of `wanted`, which are of attention and in
  // the order of the graph.
  Result<std::vector<OnnxAttention>> see_nodes(
      std::span<const std::size_t> wanted) {
    std::vector<OnnxAttention> result;
    for (std::size_t n = 0; result.size() < wanted.size(); ++n) {
      const bool asked = wanted[result.size()] == n;
      SeenAttention seen;
      HEADWISE_TRY(run_number(n, asked ? &seen : nullptr));
      if (asked) {
        result.emplace_back(std::move(seen));
      }
    }
    return result;
  }

  // Once, because it gives the arrays away.
  Result<std::vector<Array>> outputs() {
    std::vector<Array> outputs;
    for (const OnnxPort& port : graph_.outputs) {
      HEADWISE_TRY(check_port(port, *values_.at(port.name)));
      const auto made = made_.find(port.name);
      if (made == made_.end()) {
        outputs.push_back(*values_.at(port.name));
      } else {
        outputs.push_back(std::move(made->second));
      }
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
          message("holds {} elements", name_of(array.dtype)),
          message("{} as the model declares it", name_of(*port.dtype)));
    }
    if (port.shape && !fits(array.shape, *port.shape)) {
      return subject.error(
          ErrorCode::shape_mismatch,
          message("has shape {}", shape_text(array.shape)),
          message("{} as the model declares it", declared_text(*port.shape)));
    }
    if (array.shape.size() > kMostOnnxAxes) {
      return subject.error(ErrorCode::unsupported,
                           message("has {} axes", array.shape.size()),
                           "at most 8 axes");
    }
    return check_empty(array.shape, subject);
  }

  // Nodes of a fusion run with the last of them.
  Status run_number(std::size_t n, SeenAttention* seen = nullptr) {
    const OnnxFusion* fusion = fusion_of_[n];
    if (fusion == nullptr) {
      return run_node(graph_.nodes[n], seen);
    }
    if (n != fusion->nodes.back()) {
      return ok();
    }
    const auto fused = run_fused(*fusion, seen);
    if (fused && *fused) {
      return ok();
    }
    if (seen != nullptr && !fused) {
      return about(graph_.nodes[n], fused.error());
    }
    if (seen != nullptr) {
      return graph_.subject("run_onnx", graph_.nodes[n])
          .error(ErrorCode::unsupported,
                 "cannot run as a single attention operation on these inputs",
                 "float32 tensors without infinities, and masks that hide a "
                 "key completely or not at all");
    }
    for (const std::size_t member : fusion->nodes) {
      HEADWISE_TRY(run_node(graph_.nodes[member]));
    }
    return ok();
  }

  // False or an error: the nodes must run one by one, and name what is wrong if
  // something is.
  Result<bool> run_fused(const OnnxFusion& fusion, SeenAttention* seen) {
    const OnnxNode& last = graph_.nodes[fusion.nodes.back()];
    HEADWISE_ASSIGN(auto output, fused_output(fusion, last, seen));
    if (!output) {
      return false;
    }
    const std::string& name = last.outputs[0];
    if (uses_.contains(name)) {
      HEADWISE_TRY(keep(last, name, std::move(*output)));
    }
    if (seen != nullptr) {
      made_bytes_ += (*seen)->bytes();
    }
    for (const std::size_t member : fusion.nodes) {
      for (const std::string& input : graph_.nodes[member].inputs) {
        release(input);
      }
    }
    return true;
  }

  Result<std::optional<Array>> fused_output(const OnnxFusion& fusion,
                                            const OnnxNode& last,
                                            SeenAttention* seen) const {
    return within_memory([&]() -> Result<std::optional<Array>> {
      const auto tensors = fusion_tensors(
          fusion, [this](const std::string& name) -> const Array& {
            return *values_.at(name);
          });
      HEADWISE_TRY(tensors);
      if (!*tensors) {
        return std::optional<Array>();
      }
      HEADWISE_ASSIGN(auto made,
                      attend(NodeCall(graph_, last, {}, executor_, seen),
                             (*tensors)->ready, /*wants_scores=*/false));
      made.output.shape = (*tensors)->output_shape;
      return std::optional(std::move(made.output));
    });
  }

  Status run_node(const OnnxNode& node, SeenAttention* seen = nullptr) {
    std::vector<const Array*> inputs;
    for (const std::string& name : node.inputs) {
      inputs.push_back(name.empty() ? nullptr : values_.at(name));
    }
    auto made = within_memory([&] {
      return find_operator(node)->run(
          NodeCall(graph_, node, inputs, executor_, seen));
    });
    if (!made) {
      return about(node, made.error());
    }
    if (seen != nullptr) {
      made_bytes_ += (*seen)->bytes();
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].empty() && uses_.contains(node.outputs[i])) {
        HEADWISE_TRY(keep(node, node.outputs[i], std::move((*made)[i])));
      }
    }
    for (const std::string& name : node.inputs) {
      release(name);
    }
    return ok();
  }

  // What a node makes in the memory that is left.
  template <class Make>
  auto within_memory(const Make& make) const -> decltype(make()) {
    const NodeMemory memory(memory_limit_ - made_bytes_);
    try {
      return make();
    } catch (const NodeMemory::Exceeded& exceeded) {
      return Error::no_memory_for(exceeded.bytes);
    }
  }

  // An error that names its node.
  Error about(const OnnxNode& node, const Error& error) const {
    const FileSubject subject = graph_.subject("run_onnx", node);
    if (error.code() == ErrorCode::out_of_memory) {
      return no_memory(subject, error.bytes_needed());
    }
    return error.details().file.empty() ? subject.blame_here(error) : error;
  }

  Error no_memory(const FileSubject& subject, std::uint64_t bytes) const {
    return subject.error(
        ErrorCode::out_of_memory,
        bytes == std::numeric_limits<std::uint64_t>::max()
            ? "needs more bytes than can be counted"
            : message("needs {} bytes", bytes),
        message("at most {} bytes for all tensors together, the memory limit",
                memory_limit_));
  }

  // Values that are copied as they are come here uncounted.
  Status keep(const OnnxNode& node, const std::string& name, Array array) {
    const FileSubject subject = graph_.subject("run_onnx", node);
    HEADWISE_TRY(check_empty(array.shape, subject.of_entry(shown(name))));
    const std::size_t bytes = array.data.size();
    if (bytes > memory_limit_ - made_bytes_) {
      return no_memory(subject, bytes);
    }
    made_bytes_ += bytes;
    values_[name] = &(made_[name] = std::move(array));
    return ok();
  }

  // Gives back the memory of a value that is not used again.
  void release(const std::string& name) {
    if (--uses_[name] > 0) {
      return;
    }
    if (const auto made = made_.find(name); made != made_.end()) {
      made_bytes_ -= made->second.data.size();
      made_.erase(made);
    }
  }

  const OnnxGraph& graph_;
  const Executor* executor_;
  std::size_t memory_limit_;
  std::size_t made_bytes_ = 0;
  std::vector<const OnnxFusion*> fusion_of_;  // per node, or null
  std::map<std::string_view, std::size_t> uses_;
  std::map<std::string_view, const Array*> values_;
  std::map<std::string_view, Array> made_;
};

// Graph node numbers of the chosen attention nodes.
Result<std::vector<std::size_t>> choose(const OnnxGraph& graph,
                                        std::span<const std::size_t> numbers) {
  const std::vector<std::size_t> nodes = attention_numbers(graph);
  std::vector<std::size_t> chosen;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    if (numbers[n] >= nodes.size() || (n > 0 && numbers[n] <= numbers[n - 1])) {
      return argument_error(
          "run_onnx", "nodes[" + std::to_string(n) + "]",
          message("is {}", numbers[n]),
          message("attention node numbers in ascending order, less than {}",
                  nodes.size()),
          ErrorCode::out_of_range);
    }
    chosen.push_back(nodes[numbers[n]]);
  }
  return chosen;
}

}  // namespace

Result<OnnxModel> OnnxModel::read(const std::string& path) try {
  HEADWISE_ASSIGN(auto graph, read_graph(path));
  HEADWISE_TRY(check_graph(graph));
  graph.fusions = find_fusions(graph);
  return OnnxModel(std::make_shared<const OnnxGraph>(std::move(graph)));
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory};
}

std::span<const OnnxPort> OnnxModel::inputs() const { return graph_->inputs; }
std::span<const OnnxPort> OnnxModel::outputs() const { return graph_->outputs; }

Result<std::vector<OnnxAttentionNode>> OnnxModel::attention_nodes() const try {
  return find_attention_nodes(*graph_);
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory};
}

Result<std::vector<std::string>> OnnxModel::operators_not_run() const try {
  return headwise::operators_not_run(*graph_);
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory};
}

Result<std::vector<Array>> OnnxModel::run(
    std::span<const Array> inputs, const Executor* executor,
    std::optional<std::size_t> memory_limit) const try {
  HEADWISE_TRY(check_runs(*graph_, graph_->nodes.size()));
  Run run(*graph_, executor,
          memory_limit.value_or(usual_limit(*graph_, inputs)));
  HEADWISE_TRY(run.take_inputs(inputs));
  HEADWISE_TRY(run.run_nodes());
  return run.outputs();
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory};
}

Result<std::vector<OnnxAttention>> OnnxModel::attention(
    std::span<const Array> inputs, std::span<const std::size_t> nodes,
    const Executor* executor, std::optional<std::size_t> memory_limit) const
    try {
  HEADWISE_ASSIGN(const auto chosen, choose(*graph_, nodes));
  HEADWISE_TRY(check_runs(*graph_, chosen.empty() ? 0 : chosen.back() + 1));
  Run run(*graph_, executor,
          memory_limit.value_or(usual_limit(*graph_, inputs)));
  HEADWISE_TRY(run.take_inputs(inputs));
  return run.see_nodes(chosen);
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory};
}

Result<Array> read_onnx_tensor(const std::string& path) try {
  return read_tensor_message(path);
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory};
}

}  // namespace headwise::inline HEADWISE_ABI
