// Builds a graph node by node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "headwise/base/tensor_view.h"
#include "onnx/written_graph.h"

namespace headwise::inline HEADWISE_ABI {

// Uninitialised elements. The bytes can be counted. Throws std::bad_alloc.
Array float_array(std::vector<std::size_t> shape);
// A copy.
Array float_array(TensorView<const float, 1> elements);
std::span<float> floats_of(Array& array);

class GraphBuilder {
 public:
  using Attributes =
      std::vector<std::pair<std::string, std::variant<std::int64_t, float>>>;

  GraphBuilder(std::string name, std::int64_t opset)
      : graph_{.name = std::move(name), .opset = opset} {}

  void add_input(std::string name, DType dtype, std::vector<WrittenAxis> shape);
  void add_output(std::string name, DType dtype,
                  std::vector<WrittenAxis> shape);
  // Each returns the name of what it adds. A tensor that is there already
  // stays.
  std::string add_tensor(const std::string& name, Array array);
  std::string integers(const std::string& name,
                       std::span<const std::int64_t> values);
  std::string integers(const std::string& name,
                       std::initializer_list<std::int64_t> values) {
    return integers(name, std::span(values.begin(), values.size()));
  }
  // The node has the name of its output.
  std::string add_node(const std::string& op, std::vector<std::string> inputs,
                       const std::string& output,
                       const Attributes& attributes = {});

  WrittenGraph finish() && { return std::move(graph_); }

 private:
  WrittenGraph graph_;
};

}  // namespace headwise::inline HEADWISE_ABI
