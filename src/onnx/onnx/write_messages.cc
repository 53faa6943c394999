// Writes graphs with ONNX's messages.
#include <onnx/onnx_pb.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <variant>

#include "headwise/interop/atomic_file.h"
#include "headwise/version.h"
#include "onnx/messages.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// IR version of ONNX 1.18, the first release with opset 23.
constexpr std::int64_t kIrVersion = 11;

std::int32_t type_of(DType dtype) {
  return dtype == DType::boolean ? onnx::TensorProto::BOOL
         : dtype == DType::int64 ? onnx::TensorProto::INT64
                                 : onnx::TensorProto::FLOAT;
}

void put_tensor(const std::string& name, const Array& array,
                onnx::TensorProto& message) {
  message.set_name(name);
  message.set_data_type(type_of(array.dtype));
  for (const std::size_t extent : array.shape) {
    message.add_dims(static_cast<std::int64_t>(extent));
  }
  message.set_raw_data(array.data.data(), array.data.size());
}

void put_port(const WrittenPort& port, onnx::ValueInfoProto& message) {
  message.set_name(port.name);
  auto& type = *message.mutable_type()->mutable_tensor_type();
  type.set_elem_type(type_of(port.dtype));
  for (const WrittenAxis& axis : port.shape) {
    auto& dim = *type.mutable_shape()->add_dim();
    if (const auto* extent = std::get_if<std::size_t>(&axis)) {
      dim.set_dim_value(static_cast<std::int64_t>(*extent));
    } else {
      dim.set_dim_param(std::get<std::string>(axis));
    }
  }
}

void put_attribute(const OnnxAttribute& attribute,
                   onnx::AttributeProto& message) {
  message.set_name(attribute.name);
  if (const auto* whole = std::get_if<std::int64_t>(&attribute.value)) {
    message.set_type(onnx::AttributeProto::INT);
    message.set_i(*whole);
  } else {
    message.set_type(onnx::AttributeProto::FLOAT);
    message.set_f(std::get<float>(attribute.value));
  }
}

void put_node(const OnnxNode& node, onnx::NodeProto& message) {
  message.set_name(node.name);
  message.set_op_type(node.op);
  for (const std::string& input : node.inputs) {
    message.add_input(input);
  }
  for (const std::string& output : node.outputs) {
    message.add_output(output);
  }
  for (const OnnxAttribute& attribute : node.attributes) {
    put_attribute(attribute, *message.add_attribute());
  }
}

void put_graph(const WrittenGraph& graph, onnx::GraphProto& message) {
  message.set_name(graph.name);
  for (const OnnxNode& node : graph.nodes) {
    put_node(node, *message.add_node());
  }
  for (const auto& [name, array] : graph.initializers) {
    put_tensor(name, array, *message.add_initializer());
  }
  for (const WrittenPort& port : graph.inputs) {
    put_port(port, *message.add_input());
  }
  for (const WrittenPort& port : graph.outputs) {
    put_port(port, *message.add_output());
  }
}

}  // namespace

Status write_graph(const std::string& path, const WrittenGraph& graph) {
  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("headwise");
  model.set_producer_version(version());
  auto& opset = *model.add_opset_import();
  opset.set_domain("");
  opset.set_version(graph.opset);
  put_graph(graph, *model.mutable_graph());
  if (model.ByteSizeLong() > std::numeric_limits<std::int32_t>::max()) {
    return layer_beyond_file_limit();
  }
  return write_file_atomically(path,
                               std::string_view(model.SerializeAsString()));
}

}  // namespace headwise::inline HEADWISE_ABI
