#include "onnx/graph_builder.h"

namespace headwise::inline HEADWISE_ABI {

Array float_array(std::vector<std::size_t> shape) {
  Array array{.dtype = DType::float32, .shape = std::move(shape), .data = {}};
  std::size_t size = sizeof(float);
  for (const std::size_t extent : array.shape) {
    size *= extent;
  }
  array.data.resize(size);
  return array;
}

Array float_array(TensorView<const float, 1> elements) {
  Array array = float_array({elements.extent(0)});
  for (std::size_t i = 0; i < elements.extent(0); ++i) {
    floats_of(array)[i] = elements(i);
  }
  return array;
}

std::span<float> floats_of(Array& array) {
  return {reinterpret_cast<float*>(array.data.data()),
          array.data.size() / sizeof(float)};
}

void GraphBuilder::add_input(std::string name, DType dtype,
                             std::vector<WrittenAxis> shape) {
  graph_.inputs.push_back({std::move(name), dtype, std::move(shape)});
}

void GraphBuilder::add_output(std::string name, DType dtype,
                              std::vector<WrittenAxis> shape) {
  graph_.outputs.push_back({std::move(name), dtype, std::move(shape)});
}

std::string GraphBuilder::add_tensor(const std::string& name, Array array) {
  graph_.initializers.emplace(name, std::move(array));
  return name;
}

std::string GraphBuilder::integers(const std::string& name,
                                   std::span<const std::int64_t> values) {
  Array array{.dtype = DType::int64, .shape = {values.size()}, .data = {}};
  const auto bytes = std::as_bytes(values);
  array.data.assign(bytes.begin(), bytes.end());
  return add_tensor(name, std::move(array));
}

std::string GraphBuilder::add_node(const std::string& op,
                                   std::vector<std::string> inputs,
                                   const std::string& output,
                                   const Attributes& attributes) {
  OnnxNode node{.name = output,
                .op = op,
                .domain = "",
                .inputs = std::move(inputs),
                .outputs = {output},
                .attributes = {},
                .label = ""};
  for (const auto& attribute : attributes) {
    std::visit(
        [&](auto number) {
          node.attributes.push_back({attribute.first, number});
        },
        attribute.second);
  }
  graph_.nodes.push_back(std::move(node));
  return output;
}

}  // namespace headwise::inline HEADWISE_ABI
