#include "onnx/known_shapes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "onnx/numbers.h"
#include "onnx/operators.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Longer lists of numbers cannot be shapes.
constexpr std::size_t kMostNumbers = 64;

// Operators whose result has the shape of their first input.
bool keeps_shape(std::string_view op) {
  return is_one_of(op, "Cast", "Erf", "Gelu", "Identity", "Neg", "Clip",
                   "Dropout", "Relu", "SkipLayerNormalization",
                   "RMSNormalization", "Softmax", "LayerNormalization", "Sqrt",
                   "Tanh", "Reciprocal", "Add", "Sub", "Mul", "Div", "Pow",
                   "RotaryEmbedding");
}

// An element of a list; nothing if it is unknown or not there.
template <class T>
std::optional<T> known_at(const std::vector<std::optional<T>>* list,
                          std::int64_t at) {
  return list != nullptr && at >= 0 &&
                 at < static_cast<std::int64_t>(list->size())
             ? (*list)[static_cast<std::size_t>(at)]
             : std::nullopt;
}

// A shape of the larger rank; an extent that only one knows is taken if it is
// not 1.
KnownShape broadcast(const KnownShape& a, const KnownShape& b) {
  KnownShape shape = a.size() >= b.size() ? a : b;
  const KnownShape& other = a.size() >= b.size() ? b : a;
  const std::size_t front = shape.size() - other.size();
  for (std::size_t axis = 0; axis < other.size(); ++axis) {
    auto& extent = shape[front + axis];
    if (other[axis] && *other[axis] != 1) {
      extent = other[axis];
    } else if (extent == std::size_t{1} && !other[axis]) {
      extent.reset();
    }
  }
  return shape;
}

}  // namespace

KnownShapes::KnownShapes(const OnnxGraph& graph) {
  for (const OnnxPort& input : graph.inputs) {
    if (input.shape) {
      shapes_[input.name] = *input.shape;
    }
  }
  for (const auto& [name, array] : graph.initializers) {
    take_array(name, array);
  }
  for (const OnnxNode& node : graph.nodes) {
    add(node);
  }
}

const KnownShape* KnownShapes::of(std::string_view value) const {
  const auto found = shapes_.find(value);
  return found == shapes_.end() ? nullptr : &found->second;
}

std::optional<KnownShape> KnownShapes::of(const FusionOperand& operand) const {
  const KnownShape* shape = of(operand.name);
  if (shape == nullptr) {
    return std::nullopt;
  }
  KnownShape turned;
  for (const std::size_t axis : operand.turn.order(shape->size())) {
    turned.push_back((*shape)[axis]);
  }
  return turned;
}

std::optional<std::size_t> KnownShapes::extent(std::string_view value,
                                               int axis) const {
  const KnownShape* shape = of(value);
  const int rank = shape == nullptr ? 0 : static_cast<int>(shape->size());
  return known_at(shape, axis < 0 ? axis + rank : axis);
}

std::optional<double> KnownShapes::number(std::string_view value) const {
  const auto found = constants_.find(value);
  return found == constants_.end() ? std::nullopt
                                   : std::optional(found->second);
}

void KnownShapes::take_array(std::string_view name, const Array& array) {
  shapes_[name] = KnownShape(array.shape.begin(), array.shape.end());
  const std::size_t count = element_count(array.shape);
  if (count == 1) {
    constants_[name] = doubles_of(array).front();
  }
  if (array.dtype == DType::int64 && count <= kMostNumbers) {
    const auto held = integers_of(array);
    numbers_[name] = KnownNumbers(held.begin(), held.end());
  }
}

void KnownShapes::add(const OnnxNode& node) {
  if (node.outputs.empty() || node.outputs[0].empty() ||
      find_operator(node) == nullptr) {
    return;
  }
  const std::string_view made = node.outputs[0];
  if (const Array* array = attribute_as<Array>(node, "value");
      node.op == "Constant" && array != nullptr) {
    take_array(made, *array);
    return;
  }
  if (const float* number = attribute_as<float>(node, "value_float")) {
    shapes_[made] = {};
    constants_[made] = *number;
  }
  if (auto shape = shape_of_result(node)) {
    shapes_[made] = *std::move(shape);
  }
  if (const auto number = number_of_result(node)) {
    constants_[made] = *number;
  }
  auto held = numbers_of_result(node);
  if (held && held->size() <= kMostNumbers) {
    numbers_[made] = *std::move(held);
  }
}

const KnownShape* KnownShapes::shape(const OnnxNode& node,
                                     std::size_t input) const {
  return input < node.inputs.size() ? of(node.inputs[input]) : nullptr;
}

const KnownShapes::KnownNumbers* KnownShapes::numbers(const OnnxNode& node,
                                                      std::size_t input) const {
  if (input >= node.inputs.size()) {
    return nullptr;
  }
  const auto found = numbers_.find(node.inputs[input]);
  return found == numbers_.end() ? nullptr : &found->second;
}

std::optional<KnownShape> KnownShapes::shape_of_result(
    const OnnxNode& node) const {
  if (node.op == "Reshape") {
    return reshaped(node);
  }
  if (node.op == "Transpose") {
    return transposed(node);
  }
  if (node.op == "Flatten") {
    return flattened(node);
  }
  if (is_product(node)) {
    return multiplied(node);
  }
  const KnownShape* first = shape(node, 0);
  if (first == nullptr || !keeps_shape(node.op)) {
    return std::nullopt;
  }
  if (!is_one_of(node.op, "Add", "Sub", "Mul", "Div", "Pow")) {
    return *first;
  }
  const KnownShape* second = shape(node, 1);
  if (second == nullptr) {
    // A computed scalar does not add axes.
    return number(node.inputs[1]) ? std::optional(*first) : std::nullopt;
  }
  return broadcast(*first, *second);
}

std::optional<KnownShape> KnownShapes::reshaped(const OnnxNode& node) const {
  const KnownNumbers* wanted = numbers(node, 1);
  if (wanted == nullptr) {
    return std::nullopt;
  }
  const KnownShape* from = shape(node, 0);
  KnownShape made;
  for (std::size_t axis = 0; axis < wanted->size(); ++axis) {
    const auto number = (*wanted)[axis];
    made.push_back(number == std::int64_t{0}
                       ? known_at(from, static_cast<std::int64_t>(axis))
                   : number && *number > 0
                       ? std::optional(static_cast<std::size_t>(*number))
                       : std::nullopt);
  }
  return made;
}

std::optional<KnownShape> KnownShapes::transposed(const OnnxNode& node) const {
  const KnownShape* from = shape(node, 0);
  const auto* perm = attribute_as<std::vector<std::int64_t>>(node, "perm");
  if (perm == nullptr) {
    return from == nullptr
               ? std::nullopt
               : std::optional(KnownShape(from->rbegin(), from->rend()));
  }
  KnownShape made;
  for (const std::int64_t axis : *perm) {
    made.push_back(known_at(from, axis));
  }
  return made;
}

std::optional<KnownShape> KnownShapes::flattened(const OnnxNode& node) const {
  const KnownShape* from = shape(node, 0);
  const auto* given = attribute_as<std::int64_t>(node, "axis");
  const std::int64_t axis = given == nullptr ? 1 : *given;
  KnownShape made(2, 1);
  const auto rank =
      static_cast<std::int64_t>(from == nullptr ? 0 : from->size());
  for (std::int64_t at = 0; at < rank; ++at) {
    auto& extent = made[at < (axis < 0 ? axis + rank : axis) ? 0 : 1];
    const auto& own = (*from)[static_cast<std::size_t>(at)];
    extent = extent && own ? std::optional(*extent * *own) : std::nullopt;
  }
  return from == nullptr ? std::nullopt : std::optional(made);
}

// The product of two values with at least two axes each.
std::optional<KnownShape> KnownShapes::multiplied(const OnnxNode& node) const {
  const auto a = of(operand_of(node, 0));
  const auto b = of(operand_of(node, 1));
  if (!a || !b || a->size() < 2 || b->size() < 2) {
    return std::nullopt;
  }
  KnownShape made = broadcast(KnownShape(a->begin(), a->end() - 2),
                              KnownShape(b->begin(), b->end() - 2));
  made.push_back((*a)[a->size() - 2]);
  made.push_back(b->back());
  return made;
}

// Exporters compute the shape that Reshape takes: parts of Shape next to
// constants, in a Concat.
std::optional<KnownShapes::KnownNumbers> KnownShapes::numbers_of_result(
    const OnnxNode& node) const {
  if (const auto* listed =
          attribute_as<std::vector<std::int64_t>>(node, "value_ints")) {
    return KnownNumbers(listed->begin(), listed->end());
  }
  if (const auto* one = attribute_as<std::int64_t>(node, "value_int")) {
    return KnownNumbers{*one};
  }
  if (node.op == "Shape") {
    const KnownShape* from = shape(node, 0);
    if (from == nullptr || find_attribute(node, "start") != nullptr ||
        find_attribute(node, "end") != nullptr) {
      return std::nullopt;
    }
    KnownNumbers made;
    for (const auto& extent : *from) {
      made.push_back(extent ? std::optional(static_cast<std::int64_t>(*extent))
                            : std::nullopt);
    }
    return made;
  }
  if (node.op == "Gather") {
    const KnownNumbers* from = numbers(node, 0);
    const KnownNumbers* at = numbers(node, 1);
    if (at == nullptr || at->size() != 1) {
      return std::nullopt;
    }
    return KnownNumbers{known_at(from, at->front().value_or(-1))};
  }
  if (node.op == "Slice") {
    return sliced(node);
  }
  if (is_one_of(node.op, "Unsqueeze", "Squeeze", "Cast")) {
    const KnownNumbers* from = numbers(node, 0);
    return from == nullptr ? std::nullopt : std::optional(*from);
  }
  if (node.op != "Concat") {
    return std::nullopt;
  }
  KnownNumbers made;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const KnownNumbers* part = numbers(node, i);
    if (part == nullptr || made.size() > kMostNumbers) {
      return std::nullopt;
    }
    made.insert(made.end(), part->begin(), part->end());
  }
  return made;
}

// Part of a list, in steps of 1.
std::optional<KnownShapes::KnownNumbers> KnownShapes::sliced(
    const OnnxNode& node) const {
  const KnownNumbers* from = numbers(node, 0);
  const KnownNumbers* starts = numbers(node, 1);
  const KnownNumbers* ends = numbers(node, 2);
  if (from == nullptr || starts == nullptr || ends == nullptr ||
      starts->size() != 1 || ends->size() != 1 || !starts->front() ||
      !ends->front() || node.inputs.size() > 4) {
    return std::nullopt;
  }
  const auto count = static_cast<std::int64_t>(from->size());
  const auto place = [count](std::int64_t at) {
    return at < 0 ? std::max<std::int64_t>(at, -count) + count
                  : std::min(at, count);
  };
  const std::int64_t first = place(*starts->front());
  const std::int64_t last = std::max(first, place(*ends->front()));
  return KnownNumbers(from->begin() + first, from->begin() + last);
}

// Exporters compute the scale of attention from the shape of the queries.
std::optional<double> KnownShapes::number_of_result(
    const OnnxNode& node) const {
  if (node.op == "Cast") {
    const KnownNumbers* from = numbers(node, 0);
    if (from != nullptr && from->size() == 1 && from->front()) {
      return static_cast<double>(*from->front());
    }
  }
  const bool unary = is_one_of(node.op, "Cast", "Sqrt", "Reciprocal");
  const bool binary = is_one_of(node.op, "Mul", "Div");
  const auto a = unary || binary ? number(node.inputs[0]) : std::nullopt;
  const auto b = binary ? number(node.inputs[1]) : std::optional(0.0);
  if (!a || !b) {
    return std::nullopt;
  }
  return node.op == "Sqrt"         ? std::sqrt(*a)
         : node.op == "Reciprocal" ? 1 / *a
         : node.op == "Mul"        ? *a * *b
         : node.op == "Div"        ? *a / *b
                                   : *a;
}

}  // namespace headwise::inline HEADWISE_ABI
