#include "onnx/model_maker.h"

#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "onnx/numbers.h"
#include "onnx/tensor_data.h"

namespace headwise::testing_support {
namespace {

// Numbers of ONNX's fields. Those that several messages share have the name of
// the message in front.
enum Number : std::uint32_t {
  kNodeInput = 1,
  kNodeOutput = 2,
  kNodeName = 3,
  kNodeOp = 4,
  kNodeAttribute = 5,
  kNodeDomain = 7,
  kAttributeName = 1,
  kAttributeReal = 2,
  kAttributeWhole = 3,
  kAttributeText = 4,
  kAttributeTensor = 5,
  kAttributeWholes = 8,
  kAttributeType = 20,
  kTensorDims = 1,
  kTensorType = 2,
  kTensorFloats = 4,
  kTensorInt32s = 5,
  kTensorInt64s = 7,
  kTensorName = 8,
  kTensorRaw = 9,
  kTensorDoubles = 10,
  kTensorUint64s = 11,
  kTensorExternal = 13,
  kTensorLocation = 14,
  kGraphNode = 1,
  kGraphInitializer = 5,
  kGraphInput = 11,
  kGraphOutput = 12,
  kModelGraph = 7,
  kModelOpset = 8,
};

std::string raw_bytes(const Array& array) {
  return {reinterpret_cast<const char*>(array.data.data()), array.data.size()};
}

// The field for elements that are not raw, by its number and with its bytes.
std::pair<std::uint32_t, std::string> typed_field(const Array& array) {
  switch (array.dtype) {
    case DType::float32:
      return {kTensorFloats, raw_bytes(array)};
    case DType::float64:
      return {kTensorDoubles, raw_bytes(array)};
    case DType::int64:
      return {kTensorInt64s, varints(integers_of(array))};
    case DType::uint32:
    case DType::uint64:
      return {kTensorUint64s, varints(integers_of(array))};
    case DType::float16:
    case DType::bfloat16: {
      Array bits = array;
      bits.dtype = DType::uint16;
      return {kTensorInt32s, varints(integers_of(bits))};
    }
    default:
      return {kTensorInt32s, varints(integers_of(array))};
  }
}

WireMessage entry(std::string key, std::string value) {
  WireMessage message;
  message.add(1, std::move(key));
  message.add(2, std::move(value));
  return message;
}

}  // namespace

WireMessage& Attributes::add(std::string_view name, std::uint64_t type) {
  WireMessage message;
  message.add(kAttributeName, std::string(name));
  message.add(kAttributeType, type);
  return messages_.emplace_back(std::move(message));
}
Attributes& Attributes::whole(std::string_view name, std::int64_t value) {
  add(name, 2).add(kAttributeWhole, static_cast<std::uint64_t>(value));
  return *this;
}
Attributes& Attributes::real(std::string_view name, float value) {
  add(name, 1).add(kAttributeReal, value);
  return *this;
}
Attributes& Attributes::text(std::string_view name, std::string_view value) {
  add(name, 3).add(kAttributeText, std::string(value));
  return *this;
}
Attributes& Attributes::wholes(std::string_view name,
                               const std::vector<std::int64_t>& values) {
  WireMessage& message = add(name, 7);
  for (const std::int64_t value : values) {
    message.add(kAttributeWholes, static_cast<std::uint64_t>(value));
  }
  return *this;
}
Attributes& Attributes::tensor(std::string_view name, WireMessage tensor) {
  add(name, 4).add(kAttributeTensor, std::move(tensor));
  return *this;
}

std::uint64_t onnx_type(DType dtype) {
  std::int64_t type = 1;
  while (dtype_of_onnx(type) != dtype) {
    ++type;
  }
  return static_cast<std::uint64_t>(type);
}

DType some_floating(Choices& choices) {
  return choices.of({DType::float32, DType::float32, DType::float16,
                     DType::bfloat16, DType::float64});
}

DType some_type(Choices& choices) {
  if (choices.one_in(2)) {
    return some_floating(choices);
  }
  return choices.of({DType::boolean, DType::int8, DType::int16, DType::int32,
                     DType::int64, DType::uint8, DType::uint16, DType::uint32,
                     DType::uint64});
}

Shape some_shape(Choices& choices, std::size_t low_rank,
                 std::size_t high_rank) {
  Shape shape(choices.from_to(low_rank, high_rank));
  for (std::size_t& extent : shape) {
    extent = choices.one_in(32) ? 0 : choices.from_to(1, 4);
  }
  return shape;
}

Array ModelMaker::array(DType dtype, const Shape& shape, Contents contents) {
  std::vector<double> reals(element_count(shape));
  std::vector<std::int64_t> wholes(reals.size());
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr std::array kSpecial = {0.0,
                                   -0.0,
                                   kInfinity,
                                   -kInfinity,
                                   std::numeric_limits<double>::quiet_NaN(),
                                   1e38,
                                   -65504.0,
                                   1e-320};
  for (std::size_t i = 0; i < reals.size(); ++i) {
    const std::uint8_t byte = choices_.byte();
    reals[i] = contents == Contents::positive ? byte % 4 + 1
               : byte < 4                     ? choices_.of(kSpecial)
                                              : byte / 64.0 - 2;
    wholes[i] = contents == Contents::positive ? byte % 4 + 1
                : byte < 4 ? static_cast<std::int64_t>(choices_.number())
                           : byte % 8 - 2;
  }
  return is_floating(dtype) ? array_from(reals, shape, dtype).value()
                            : array_from(wholes, shape, dtype).value();
}

WireMessage ModelMaker::tensor(const std::string& name, const Array& array) {
  WireMessage message;
  for (const std::size_t extent : array.shape) {
    message.add(kTensorDims, std::uint64_t{extent});
  }
  message.add(kTensorType, onnx_type(array.dtype));
  message.add(kTensorName, name);
  if (choices_.one_in(8) && array.data.size() <= kExternalBytes) {
    message.add(kTensorLocation, std::uint64_t{1});
    message.add(kTensorExternal, entry("location", kExternalName));
    message.add(kTensorExternal, entry("offset", "0"));
    message.add(kTensorExternal,
                entry("length", std::to_string(array.data.size())));
  } else if (choices_.one_in(2)) {
    message.add(kTensorRaw, raw_bytes(array));
  } else {
    auto [number, bytes] = typed_field(array);
    message.add(number, std::move(bytes));
  }
  return message;
}

std::string ModelMaker::new_name() {
  return "v" + std::to_string(values_.size());
}

std::string ModelMaker::place(Array array) {
  const std::string name = new_name();
  const Made made{array.dtype, array.shape, true};
  switch (choices_.below(4)) {
    case 0:
      node("Constant", {}, Attributes().tensor("value", tensor("", array)),
           {made});
      break;
    case 1:
      initializers_.push_back(tensor(name, array));
      values_.push_back({name, made});
      break;
    default:
      inputs_.emplace(name, std::move(array));
      input_names_.push_back(name);
      values_.push_back({name, made});
  }
  return name;
}

std::string ModelMaker::value(DType dtype, const Shape& shape,
                              Contents contents) {
  if (contents == Contents::any && choices_.one_in(2)) {
    for (std::size_t i = values_.size(); i-- > 0;) {
      const Made& made = values_[i].made;
      if (made.known && made.dtype == dtype && made.shape == shape) {
        return values_[i].name;
      }
    }
  }
  return place(array(dtype, shape, contents));
}

std::string ModelMaker::any_value() {
  return values_.empty()
             ? value(some_type(choices_), some_shape(choices_, 0, 4))
             : choices_.of(values_).name;
}

std::string ModelMaker::list(const std::vector<std::int64_t>& numbers) {
  return place(array_from(numbers, {numbers.size()}, DType::int64).value());
}

std::string ModelMaker::indices(const Shape& shape, std::int64_t low,
                                std::int64_t high, DType dtype) {
  std::vector<std::int64_t> numbers(element_count(shape));
  for (std::int64_t& number : numbers) {
    number = low + static_cast<std::int64_t>(choices_.below(
                       static_cast<std::size_t>(high - low + 1)));
  }
  return place(array_from(numbers, shape, dtype).value());
}

std::string ModelMaker::node(const OpName& op, std::vector<std::string> inputs,
                             const Attributes& attributes,
                             const std::vector<Made>& outputs) {
  WireMessage message;
  std::string first = new_name();
  for (std::string& input : inputs) {
    message.add(kNodeInput, std::move(input));
  }
  for (const Made& output : outputs) {
    const std::string name = new_name();
    message.add(kNodeOutput, name);
    values_.push_back({name, output, true});
  }
  if (choices_.one_in(4)) {
    message.add(kNodeName, "n" + std::to_string(nodes_.size()));
  }
  message.add(kNodeOp, std::string(op.op));
  if (!op.domain.empty()) {
    message.add(kNodeDomain, std::string(op.domain));
  } else if (choices_.one_in(16)) {
    message.add(kNodeDomain, std::string("ai.onnx"));
  }
  for (const WireMessage& attribute : attributes.messages()) {
    message.add(kNodeAttribute, attribute);
  }
  nodes_.push_back(std::move(message));
  return first;
}

// ValueInfoProto; of an output without a shape only its name.
WireMessage ModelMaker::port(const Value& value) const {
  WireMessage message;
  message.add(1, value.name);
  if (!value.made.known) {
    return message;
  }
  WireMessage shape;
  for (const std::size_t extent : value.made.shape) {
    WireMessage dim;
    if (choices_.one_in(8)) {
      dim.add(2, std::string("N"));
    } else {
      dim.add(1, std::uint64_t{extent});
    }
    shape.add(1, std::move(dim));
  }
  WireMessage tensor_type;
  tensor_type.add(1, onnx_type(value.made.dtype));
  tensor_type.add(2, std::move(shape));
  WireMessage type;
  type.add(1, std::move(tensor_type));
  message.add(2, std::move(type));
  return message;
}

WireMessage ModelMaker::model() const {
  WireMessage graph;
  for (const WireMessage& node : nodes_) {
    graph.add(kGraphNode, node);
  }
  graph.add(2, std::string("graph"));
  for (const WireMessage& initializer : initializers_) {
    graph.add(kGraphInitializer, initializer);
  }
  for (const Value& value : values_) {
    if (inputs_.contains(value.name)) {
      graph.add(kGraphInput, port(value));
    }
  }
  for (const Value& value : values_) {
    if (value.output) {
      graph.add(kGraphOutput, port(value));
    }
  }
  WireMessage opset;
  opset.add(1, std::string());
  opset.add(2, static_cast<std::uint64_t>(opset_));
  WireMessage model;
  model.add(1, std::uint64_t{10});
  model.add(kModelOpset, std::move(opset));
  model.add(kModelGraph, std::move(graph));
  return model;
}

}  // namespace headwise::testing_support
