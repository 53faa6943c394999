// A model of ONNX in the making: random_nodes.cc adds nodes to it, and this
// makes the tensors that they take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/dtype.h"
#include "headwise/interop/array.h"
#include "onnx/choices.h"
#include "onnx/wire_message.h"

namespace headwise::testing_support {

using Shape = std::vector<std::size_t>;

// The file of external data next to the models.
inline constexpr const char* kExternalName = "data.bin";
inline constexpr std::size_t kExternalBytes = 256;

// What the elements of a tensor are.
enum class Contents {
  any,       // of floating-point types also infinite and NaN
  positive,  // 1 to 4
};

// The attributes of a node, as they are added.
class Attributes {
 public:
  Attributes& whole(std::string_view name, std::int64_t value);
  Attributes& real(std::string_view name, float value);
  Attributes& text(std::string_view name, std::string_view value);
  Attributes& wholes(std::string_view name,
                     const std::vector<std::int64_t>& values);
  Attributes& tensor(std::string_view name, WireMessage message);

  const std::vector<WireMessage>& messages() const { return messages_; }

 private:
  WireMessage& add(std::string_view name, std::uint64_t type);

  std::vector<WireMessage> messages_;
};

// An operator, of the standard ones unless a domain is given.
struct OpName {
  OpName(std::string_view standard) : op(standard) {}
  OpName(const char* standard) : op(standard) {}
  OpName(std::string_view name, std::string_view of) : op(name), domain(of) {}

  std::string_view op;
  std::string_view domain{};
};

class ModelMaker {
 public:
  ModelMaker(Choices& choices, std::int64_t opset)
      : choices_(choices), opset_(opset) {}

  Choices& choices() { return choices_; }
  std::int64_t opset() const { return opset_; }

  // A tensor, by its name: one that is there, an input, an initializer or a
  // constant.
  std::string value(DType dtype, const Shape& shape,
                    Contents contents = Contents::any);
  // Any that is there; a new one in an empty model.
  std::string any_value();
  // A list of int64.
  std::string list(const std::vector<std::int64_t>& numbers);
  // Whole numbers between these two.
  std::string indices(const Shape& shape, std::int64_t low, std::int64_t high,
                      DType dtype = DType::int64);

  // Adds a node; `outputs` is as long as it has outputs, and an output of known
  // shape may be the input of a later node. The name of the first output.
  struct Made {
    DType dtype = DType::float32;
    Shape shape{};
    bool known = false;
  };
  std::string node(const OpName& op, std::vector<std::string> inputs,
                   const Attributes& attributes,
                   const std::vector<Made>& outputs);
  std::string node(const OpName& op, std::vector<std::string> inputs,
                   const Attributes& attributes, DType dtype, Shape shape) {
    return node(op, std::move(inputs), attributes,
                {{dtype, std::move(shape), true}});
  }

  Array array(DType dtype, const Shape& shape, Contents contents);
  WireMessage tensor(const std::string& name, const Array& array);

  WireMessage model() const;
  // What the inputs were made for.
  const std::map<std::string, Array>& inputs() const { return inputs_; }

 private:
  struct Value {
    std::string name;
    Made made;
    bool output = false;  // of a node
  };
  std::string new_name();
  std::string place(Array array);
  WireMessage port(const Value& value) const;

  Choices& choices_;
  std::int64_t opset_;
  std::vector<Value> values_;
  std::vector<WireMessage> nodes_;
  std::vector<WireMessage> initializers_;
  std::vector<std::string> input_names_;
  std::map<std::string, Array> inputs_;
};

// ONNX's number of a type.
std::uint64_t onnx_type(DType dtype);
DType some_type(Choices& choices);
DType some_floating(Choices& choices);
// Axes of 0 to 4 elements, few of 0; `rank`: at least, at most.
Shape some_shape(Choices& choices, std::size_t low_rank, std::size_t high_rank);

}  // namespace headwise::testing_support
