// Reads files with ONNX's messages.
#include "onnx/messages.h"

#include <google/protobuf/arena.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <new>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "headwise/interop/paths.h"
#include "interop/error_text.h"
#include "interop/input_file.h"
#include "interop/mapped_file.h"
#include "onnx/operators.h"
#include "onnx/shown_text.h"
#include "onnx/tensor_data.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Messages may take 16 times the bytes of their file and this much more: an
// empty node is two bytes of a file and a hundred in memory.
constexpr std::size_t kSpareBytes = std::size_t{16} << 20;
thread_local std::size_t arena_bytes_left = 0;

std::size_t most_bytes(std::size_t file) { return 16 * file + kSpareBytes; }

struct LimitReached : std::bad_alloc {};

void* take_block(std::size_t bytes) {
  if (bytes > arena_bytes_left) {
    throw LimitReached();
  }
  void* block = std::malloc(bytes);
  if (block == nullptr) {
    throw std::bad_alloc();
  }
  arena_bytes_left -= bytes;
  return block;
}

void give_block(void* block, std::size_t /*bytes*/) { std::free(block); }

google::protobuf::ArenaOptions limited_to(std::size_t bytes) {
  arena_bytes_left = bytes;
  google::protobuf::ArenaOptions options;
  options.block_alloc = take_block;
  options.block_dealloc = give_block;
  return options;
}

// A file that a message can be read from.
Result<InputFile> message_file(const FileSubject& subject) {
  HEADWISE_ASSIGN(auto file,
                  InputFile::open_if_there(subject.operation, subject.file));
  if (!file.has_value()) {
    return io_error(subject, ENOENT);
  }
  const std::size_t size = file->size().value_or(0);
  if (size > std::size_t{std::numeric_limits<std::int32_t>::max()}) {
    return subject.error(ErrorCode::unsupported, message("has {} bytes", size),
                         "less than 2 GiB; larger tensors go into files next "
                         "to the model");
  }
  return *std::move(file);
}

template <class Field>
auto elements(const Field& field) {
  return std::span(field.data(), static_cast<std::size_t>(field.size()));
}

Result<Array> tensor(const onnx::TensorProto& message,
                     const FileSubject& subject,
                     const std::optional<std::string>& folder) {
  TensorFields fields;
  fields.dims = elements(message.dims());
  fields.type = message.data_type();
  if (message.has_raw_data()) {
    fields.raw = message.raw_data();
  }
  fields.floats = elements(message.float_data());
  fields.int32s = elements(message.int32_data());
  fields.int64s = elements(message.int64_data());
  fields.doubles = elements(message.double_data());
  fields.uint64s = elements(message.uint64_data());
  fields.in_segments = message.has_segment();
  fields.external = message.data_location() == onnx::TensorProto::EXTERNAL;
  for (const auto& entry : message.external_data()) {
    fields.place.emplace_back(entry.key(), entry.value());
  }
  return tensor_of(fields, subject, folder);
}

Result<OnnxPort> port(const onnx::ValueInfoProto& message,
                      const FileSubject& file) {
  const FileSubject subject = file.of_entry(shown(message.name()));
  OnnxPort port{.name = message.name()};
  if (!message.has_type()) {
    return port;
  }
  if (!message.type().has_tensor_type()) {
    return subject.error(ErrorCode::unsupported, "is not a tensor", "a tensor");
  }
  const auto& type = message.type().tensor_type();
  port.dtype = dtype_of_onnx(type.elem_type());
  if (!port.dtype) {
    return subject.error(ErrorCode::unsupported,
                         headwise::message("holds elements of type {}",
                                           onnx_type_name(type.elem_type())),
                         "bool, integers or floating-point numbers");
  }
  if (!type.has_shape()) {
    return port;
  }
  port.shape.emplace();
  for (const auto& dim : type.shape().dim()) {
    if (dim.has_dim_value() && dim.dim_value() < -1) {
      return subject.bad_data(
          headwise::message("has an axis of extent {}", dim.dim_value()),
          "at least 0, or -1 for any");
    }
    // Some exporters write -1 for an axis of any extent.
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      port.shape->emplace_back(static_cast<std::size_t>(dim.dim_value()));
    } else {
      port.shape->emplace_back(std::nullopt);
    }
  }
  return port;
}

Result<OnnxAttribute> read_attribute(const onnx::AttributeProto& message,
                                     const FileSubject& node,
                                     const std::optional<std::string>& folder) {
  OnnxAttribute result{.name = message.name(), .value = OnnxUnreadable{}};
  if (!message.ref_attr_name().empty()) {
    result.value = OnnxUnreadable{"is an attribute of a function"};
    return result;
  }
  switch (message.type()) {
    case onnx::AttributeProto::INT:
      result.value = static_cast<std::int64_t>(message.i());
      break;
    case onnx::AttributeProto::FLOAT:
      result.value = message.f();
      break;
    case onnx::AttributeProto::STRING:
      result.value = message.s();
      break;
    case onnx::AttributeProto::INTS:
      result.value = std::vector<std::int64_t>(message.ints().begin(),
                                               message.ints().end());
      break;
    case onnx::AttributeProto::FLOATS:
      result.value =
          std::vector<float>(message.floats().begin(), message.floats().end());
      break;
    case onnx::AttributeProto::STRINGS:
      result.value = std::vector<std::string>(message.strings().begin(),
                                              message.strings().end());
      break;
    case onnx::AttributeProto::TENSOR: {
      HEADWISE_ASSIGN(
          auto held,
          tensor(message.t(), node.of_entry(shown(message.name())), folder));
      result.value = std::move(held);
      break;
    }
    case onnx::AttributeProto::GRAPH:
    case onnx::AttributeProto::GRAPHS:
      result.value = OnnxUnreadable{"is a subgraph"};
      break;
    case onnx::AttributeProto::SPARSE_TENSOR:
    case onnx::AttributeProto::SPARSE_TENSORS:
      result.value = OnnxUnreadable{"is a sparse tensor"};
      break;
    default:
      result.value = OnnxUnreadable{"is another kind of value"};
  }
  return result;
}

std::string label_of(const onnx::NodeProto& message, int number) {
  return (message.name().empty() ? "#" + std::to_string(number)
                                 : shown(message.name())) +
         " (" + shown(message.op_type()) + ")";
}

Result<OnnxNode> node(const onnx::NodeProto& message, int number,
                      const FileSubject& file,
                      const std::optional<std::string>& folder) {
  OnnxNode node{.name = message.name(),
                .op = message.op_type(),
                .domain = message.domain(),
                .inputs = {message.input().begin(), message.input().end()},
                .outputs = {message.output().begin(), message.output().end()},
                .attributes = {},
                .label = label_of(message, number)};
  const FileSubject subject = file.of_entry(node.label);
  for (const auto& each : message.attribute()) {
    HEADWISE_ASSIGN(auto made, read_attribute(each, subject, folder));
    node.attributes.push_back(std::move(made));
  }
  return node;
}

// The version of the standard operators that the model asks for.
Result<std::int64_t> opset_of(const onnx::ModelProto& model,
                              const FileSubject& subject) {
  std::optional<std::int64_t> opset;
  for (const auto& import : model.opset_import()) {
    if (is_standard_domain(import.domain())) {
      // Of several, the standard takes the highest.
      opset = std::max<std::int64_t>(opset.value_or(import.version()),
                                     import.version());
    }
  }
  if (!opset) {
    return subject.bad_data("names no operator set", opsets_since(kFirstOpset));
  }
  return *opset;
}

// A function of the model may have the name of an operator, so a model with
// functions cannot be read without them.
Status check_functions(const onnx::ModelProto& model,
                       const FileSubject& subject) {
  if (model.functions_size() == 0) {
    return ok();
  }
  const auto& first = model.functions(0);
  return subject.of_entry(shown(first.name()))
      .error(ErrorCode::unsupported, "is a function of the model",
             "a model without functions");
}

Status add_initializers(const onnx::GraphProto& message,
                        const FileSubject& subject,
                        const std::optional<std::string>& folder,
                        OnnxGraph& graph) {
  if (message.sparse_initializer_size() > 0) {
    return subject
        .of_entry(shown(message.sparse_initializer(0).values().name()))
        .error(ErrorCode::unsupported, "is a sparse tensor", "a plain tensor");
  }
  for (const auto& each : message.initializer()) {
    const FileSubject entry = subject.of_entry(shown(each.name()));
    HEADWISE_ASSIGN(auto made, tensor(each, entry, folder));
    if (!graph.initializers.emplace(each.name(), std::move(made)).second) {
      return entry.bad_data("is there twice", "one tensor of each name");
    }
  }
  return ok();
}

Status add_ports(const onnx::GraphProto& message, const FileSubject& subject,
                 OnnxGraph& graph) {
  for (const auto& each : message.input()) {
    if (graph.initializers.contains(each.name())) {
      continue;
    }
    HEADWISE_ASSIGN(auto made, port(each, subject));
    graph.inputs.push_back(std::move(made));
  }
  for (const auto& each : message.output()) {
    HEADWISE_ASSIGN(auto made, port(each, subject));
    graph.outputs.push_back(std::move(made));
  }
  return ok();
}

// Names of one letter and nodes with nothing in them take more than 16 times
// their bytes of the file: together within what a file may take besides.
constexpr int kMostNodes = 20'000;
constexpr int kMostNodeInputs = 60'000;
constexpr int kMostNodeOutputs = 40'000;
constexpr int kMostPorts = 10'000;

Status check_message_counts(const onnx::GraphProto& graph,
                            const FileSubject& subject) {
  int inputs = 0;
  int outputs = 0;
  for (const onnx::NodeProto& each : graph.node()) {
    inputs += each.input_size();
    outputs += each.output_size();
  }
  const struct {
    const char* things;
    int given;
    int most;
  } counts[] = {{"nodes", graph.node_size(), kMostNodes},
                {"node inputs", inputs, kMostNodeInputs},
                {"node outputs", outputs, kMostNodeOutputs},
                {"inputs", graph.input_size(), kMostPorts},
                {"outputs", graph.output_size(), kMostPorts}};
  for (const auto& [things, given, most] : counts) {
    if (given > most) {
      return subject.error(ErrorCode::unsupported,
                           message("has {} {}", given, Message(things)),
                           message("at most {}", most));
    }
  }
  return ok();
}

Result<OnnxGraph> graph_of(const onnx::ModelProto& model,
                           const FileSubject& subject) {
  if (!model.has_graph()) {
    return subject.bad_data("has no graph", "an ONNX model");
  }
  OnnxGraph graph{.file = subject.file};
  HEADWISE_TRY(check_message_counts(model.graph(), subject));
  HEADWISE_TRY(check_functions(model, subject));
  HEADWISE_ASSIGN(graph.opset, opset_of(model, subject));
  const std::optional<std::string> folder = folder_of(subject.file);
  HEADWISE_TRY(add_initializers(model.graph(), subject, folder, graph));
  HEADWISE_TRY(add_ports(model.graph(), subject, graph));
  for (int i = 0; i < model.graph().node_size(); ++i) {
    HEADWISE_ASSIGN(auto made, node(model.graph().node(i), i, subject, folder));
    graph.nodes.push_back(std::move(made));
  }
  return graph;
}

// What `use` makes of the message in a file. Errors: of the file,
// out_of_memory, bad_data.
template <class Message, class Use>
auto read_message(const FileSubject& subject, const char* expected,
                  const Use& use) -> decltype(use(Message())) {
  HEADWISE_ASSIGN(auto file, message_file(subject));
  const std::size_t size = file.size().value_or(0);
  google::protobuf::Arena arena(limited_to(most_bytes(size)));
  auto* message = google::protobuf::Arena::CreateMessage<Message>(&arena);
  bool whole = size == 0;
  try {
    if (!whole) {
      HEADWISE_TRY(with_mapped_bytes(
          std::move(file), [&](std::span<const std::byte> bytes) {
            whole = message->ParseFromArray(bytes.data(),
                                            static_cast<int>(bytes.size()));
          }));
    }
  } catch (const LimitReached&) {
    return subject.error(
        ErrorCode::out_of_memory,
        headwise::message("needs more than {} bytes", most_bytes(size)),
        "at most 16 times its own bytes and 16 MiB; raw_data needs least");
  }
  if (!whole) {
    return subject.bad_data("is damaged", expected);
  }
  return use(*message);
}

}  // namespace

Result<OnnxGraph> read_graph(const std::string& path) {
  const FileSubject subject{.operation = "read_onnx", .file = path};
  return read_message<onnx::ModelProto>(
      subject, "an ONNX model",
      [&](const onnx::ModelProto& model) { return graph_of(model, subject); });
}

Result<Array> read_tensor_message(const std::string& path) {
  const FileSubject subject{.operation = "read_onnx", .file = path};
  return read_message<onnx::TensorProto>(
      subject, "a tensor of ONNX", [&](const onnx::TensorProto& message) {
        return tensor(message, subject, std::nullopt);
      });
}

}  // namespace headwise::inline HEADWISE_ABI
