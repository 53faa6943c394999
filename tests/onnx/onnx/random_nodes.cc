#include "onnx/random_nodes.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "onnx/contrib_operators.h"
#include "onnx/numbers.h"
#include "onnx/operators.h"

namespace headwise::testing_support {
namespace {

using Made = ModelMaker::Made;

std::int64_t signed_of(std::size_t number) {
  return static_cast<std::int64_t>(number);
}

// An axis, sometimes counted from the end.
std::int64_t some_axis(Choices& choices, std::size_t axis, std::size_t rank) {
  return signed_of(axis) - (choices.one_in(2) ? signed_of(rank) : 0);
}

DType some_number(Choices& choices) {
  const DType dtype = some_type(choices);
  return dtype == DType::boolean ? DType::int32 : dtype;
}

// A shape that is broadcast to this one.
Shape narrower(Choices& choices, Shape shape) {
  shape.erase(shape.begin(),
              shape.begin() + signed_of(choices.below(shape.size() + 1)));
  for (std::size_t& extent : shape) {
    extent = choices.one_in(4) ? 1 : extent;
  }
  return shape;
}

void unary(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const bool softmax = op.ends_with("oftmax");
  const bool any_number = op == "Neg" || op == "Abs" || op == "Relu";
  const DType dtype = op == "Identity" || (any_number && choices.one_in(2))
                          ? some_type(choices)
                          : some_floating(choices);
  const Shape shape = some_shape(choices, softmax ? 1 : 0, 4);
  Attributes attributes;
  if (op == "Gelu" && choices.one_in(2)) {
    attributes.text("approximate", choices.of({"none", "tanh"}));
  }
  if (softmax && choices.one_in(2)) {
    attributes.whole(
        "axis", some_axis(choices, choices.below(shape.size()), shape.size()));
  }
  maker.node(op, {maker.value(dtype, shape)}, attributes, dtype, shape);
}

void binary(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const DType dtype = some_number(choices);
  const Shape shape = some_shape(choices, 0, 4);
  const bool positive = op == "Div" || op == "Pow";
  const std::string a = maker.value(dtype, shape);
  const std::string b =
      maker.value(dtype, narrower(choices, shape),
                  positive ? Contents::positive : Contents::any);
  maker.node(op, {a, b}, {}, dtype, shape);
}

void compare(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const DType dtype = op == "And" || op == "Or" || op == "Xor"
                          ? DType::boolean
                          : some_number(choices);
  const Shape shape = some_shape(choices, 0, 4);
  const std::string a = maker.value(dtype, narrower(choices, shape));
  maker.node(op, {a, maker.value(dtype, shape)}, {}, DType::boolean, shape);
}

void negation(ModelMaker& maker, std::string_view op) {
  const Shape shape = some_shape(maker.choices(), 0, 4);
  maker.node(op, {maker.value(DType::boolean, shape)}, {}, DType::boolean,
             shape);
}

void variadic(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const DType dtype =
      op == "Sum" ? some_floating(choices) : some_number(choices);
  const Shape shape = some_shape(choices, 0, 4);
  std::vector<std::string> inputs{maker.value(dtype, shape)};
  for (std::size_t i = choices.below(3); i > 0; --i) {
    inputs.push_back(maker.value(dtype, narrower(choices, shape)));
  }
  maker.node(op, inputs, {}, dtype, shape);
}

void remainder(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const DType dtype = some_number(choices);
  const Shape shape = some_shape(choices, 0, 4);
  const std::string a = maker.value(dtype, shape);
  const std::string b =
      maker.value(dtype, narrower(choices, shape), Contents::positive);
  const bool real = is_floating(dtype) || choices.one_in(2);
  maker.node(op, {a, b}, Attributes().whole("fmod", real ? 1 : 0), dtype,
             shape);
}

void reduction(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const DType dtype = some_number(choices);
  const Shape shape = some_shape(choices, 1, 4);
  const std::int64_t axis =
      some_axis(choices, choices.below(shape.size()), shape.size());
  std::vector<std::string> inputs{maker.value(dtype, shape)};
  Attributes attributes;
  attributes.whole("keepdims", choices.one_in(2) ? 1 : 0);
  if (maker.opset() < (op == "ReduceSum" ? 13 : 18)) {
    attributes.wholes("axes", {axis});
  } else if (choices.one_in(2)) {
    inputs.push_back(maker.list({axis}));
  }
  maker.node(op, inputs, attributes, {{}});
}

void pad(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const Shape shape = some_shape(choices, 1, 3);
  std::vector<std::int64_t> pads(2 * shape.size());
  for (std::int64_t& each : pads) {
    each = signed_of(choices.from_to(0, 4)) - (choices.one_in(4) ? 2 : 0);
  }
  const std::string x = maker.value(some_type(choices), shape);
  maker.node(
      op, {x, maker.list(pads)},
      Attributes().text("mode", choices.of({"constant", "edge", "reflect"})),
      {{}});
}

void range(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const DType dtype =
      choices.of({DType::float32, DType::float64, DType::int32, DType::int64});
  std::vector<std::string> inputs;
  for (std::size_t i = 0; i < 3; ++i) {
    inputs.push_back(maker.value(dtype, {}, Contents::positive));
  }
  maker.node(op, inputs, {}, {{}});
}

void triangle(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const Shape shape = some_shape(choices, 2, 4);
  const DType dtype = some_type(choices);
  std::vector<std::string> inputs{maker.value(dtype, shape)};
  if (choices.one_in(2)) {
    inputs.push_back(maker.indices({}, -3, 3));
  }
  maker.node(op, inputs, Attributes().whole("upper", choices.one_in(2) ? 1 : 0),
             dtype, shape);
}

void flatten(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const Shape shape = some_shape(choices, 1, 4);
  maker.node(
      op, {maker.value(some_type(choices), shape)},
      Attributes().whole("axis", some_axis(choices, choices.below(shape.size()),
                                           shape.size())),
      {{}});
}

void filled(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const Shape shape = some_shape(choices, 0, 4);
  const DType dtype = some_type(choices);
  const std::string extents =
      maker.list(std::vector<std::int64_t>(shape.begin(), shape.end()));
  maker.node(
      op, {extents},
      Attributes().tensor(
          "value", maker.tensor("", maker.array(dtype, {1}, Contents::any))),
      dtype, shape);
}

void cast_like(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const DType to = some_type(choices);
  const Shape shape = some_shape(choices, 0, 4);
  const std::string x = maker.value(some_type(choices), shape);
  maker.node(op, {x, maker.value(to, {})}, {}, to, shape);
}

void where(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const DType dtype = some_type(choices);
  const Shape shape = some_shape(choices, 0, 4);
  const std::string flags =
      maker.value(DType::boolean, narrower(choices, shape));
  const std::string a = maker.value(dtype, shape);
  const std::string b = maker.value(dtype, narrower(choices, shape));
  maker.node(op, {flags, a, b}, {}, dtype, shape);
}

void cast(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const DType to = some_type(choices);
  const Shape shape = some_shape(choices, 0, 4);
  maker.node(op, {maker.value(some_type(choices), shape)},
             Attributes().whole("to", signed_of(onnx_type(to))), to, shape);
}

void transpose(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const Shape shape = some_shape(choices, 0, 5);
  std::vector<std::int64_t> order(shape.size());
  std::iota(order.rbegin(), order.rend(), std::int64_t{0});
  Attributes attributes;
  if (choices.one_in(2)) {
    for (std::size_t i = order.size(); i-- > 1;) {
      std::swap(order[i], order[choices.below(i + 1)]);
    }
    attributes.wholes("perm", order);
  }
  Shape turned;
  for (const std::int64_t axis : order) {
    turned.push_back(shape[static_cast<std::size_t>(axis)]);
  }
  const DType dtype = some_type(choices);
  maker.node(op, {maker.value(dtype, shape)}, attributes, dtype, turned);
}

void reshape(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const Shape shape = some_shape(choices, 0, 4);
  Shape after(shape.rbegin(), shape.rend());
  if (choices.one_in(2)) {
    after = {element_count(shape), 1};
  }
  std::vector<std::int64_t> wanted(after.begin(), after.end());
  if (element_count(shape) > 0 && !wanted.empty() && choices.one_in(2)) {
    choices.of(wanted);
    wanted[choices.below(wanted.size())] = -1;
  }
  const DType dtype = some_type(choices);
  const std::string x = maker.value(dtype, shape);
  const std::string list = maker.list(wanted);
  if (maker.opset() >= 14) {
    maker.node(op, {x, list}, Attributes().whole("allowzero", 1), dtype, after);
  } else {
    maker.node(op, {x, list}, {}, {{}});
  }
}

void squeeze(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const Shape shape = some_shape(choices, 0, 4);
  Shape longer = shape;
  const std::size_t axis = choices.below(shape.size() + 1);
  longer.insert(longer.begin() + signed_of(axis), 1);
  const DType dtype = some_type(choices);
  const bool adds = op == "Unsqueeze";
  const std::string x = maker.value(dtype, adds ? shape : longer);
  if (!adds && choices.one_in(4)) {
    maker.node(op, {x}, {}, {{}});
    return;
  }
  const std::string axes =
      maker.list({some_axis(choices, axis, longer.size())});
  maker.node(op, {x, axes}, {}, dtype, adds ? longer : shape);
}

void expand(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const Shape shape = some_shape(choices, 0, 4);
  const DType dtype = some_type(choices);
  const std::string x = maker.value(dtype, narrower(choices, shape));
  const std::string wanted =
      maker.list(std::vector<std::int64_t>(shape.begin(), shape.end()));
  maker.node(op, {x, wanted}, {}, dtype, shape);
}

void concat(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  Shape shape = some_shape(choices, 1, 4);
  const DType dtype = some_type(choices);
  const std::size_t axis = choices.below(shape.size());
  std::vector<std::string> inputs;
  std::size_t sum = 0;
  for (std::size_t i = choices.from_to(1, 3); i > 0; --i) {
    shape[axis] = choices.from_to(0, 3);
    sum += shape[axis];
    inputs.push_back(maker.value(dtype, shape));
  }
  shape[axis] = sum;
  maker.node(op, inputs,
             Attributes().whole("axis", some_axis(choices, axis, shape.size())),
             dtype, shape);
}

void split(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  Shape shape = some_shape(choices, 1, 4);
  const DType dtype = some_type(choices);
  const std::size_t axis = choices.below(shape.size());
  const std::size_t parts = choices.from_to(1, 3);
  Attributes attributes;
  attributes.whole("axis", some_axis(choices, axis, shape.size()));
  std::vector<std::int64_t> lengths(parts);
  const bool equal = choices.one_in(2);
  const std::size_t length = choices.from_to(1, 3);
  shape[axis] = 0;
  std::vector<Made> outputs;
  for (std::int64_t& each : lengths) {
    each = signed_of(equal ? length : choices.from_to(0, 3));
    Shape part = shape;
    part[axis] = static_cast<std::size_t>(each);
    outputs.push_back({dtype, part, true});
  }
  shape[axis] =
      static_cast<std::size_t>(std::reduce(lengths.begin(), lengths.end()));
  std::vector<std::string> inputs{maker.value(dtype, shape)};
  if (!equal) {
    inputs.push_back(maker.list(lengths));
  } else if (maker.opset() >= 18) {
    attributes.whole("num_outputs", signed_of(parts));
  }
  maker.node(op, inputs, attributes, outputs);
}

void slice(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const Shape shape = some_shape(choices, 1, 4);
  const DType dtype = some_type(choices);
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> ends;
  std::vector<std::int64_t> steps;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    starts.push_back(signed_of(choices.from_to(0, 8)) - 4);
    ends.push_back(signed_of(choices.from_to(0, 8)) - 4);
    steps.push_back(choices.of({1, 1, 2, -1, -3}));
  }
  std::vector<std::string> inputs{maker.value(dtype, shape), maker.list(starts),
                                  maker.list(ends)};
  if (choices.one_in(2)) {
    std::vector<std::int64_t> axes(shape.size());
    std::iota(axes.begin(), axes.end(), std::int64_t{0});
    inputs.push_back(maker.list(axes));
    inputs.push_back(maker.list(steps));
  }
  maker.node(op, inputs, {}, {{}});
}

void gather(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const Shape shape = some_shape(choices, 1, 4);
  const DType dtype = some_type(choices);
  const std::size_t axis = choices.below(shape.size());
  const auto extent = signed_of(std::max<std::size_t>(shape[axis], 1));
  const std::string x = maker.value(dtype, shape);
  const std::string rows =
      maker.indices(some_shape(choices, 0, 2), -extent, extent - 1);
  maker.node(op, {x, rows},
             Attributes().whole("axis", some_axis(choices, axis, shape.size())),
             {{}});
}

void shape_of(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  Attributes attributes;
  if (maker.opset() >= 15 && choices.one_in(2)) {
    attributes.whole("start", signed_of(choices.from_to(0, 4)) - 2)
        .whole("end", signed_of(choices.from_to(0, 4)) - 2);
  }
  maker.node(op, {maker.value(some_type(choices), some_shape(choices, 0, 4))},
             attributes, {{}});
}

void constant(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  Attributes attributes;
  switch (choices.below(4)) {
    case 0:
      attributes.whole("value_int", choices.byte());
      break;
    case 1:
      attributes.real("value_float", choices.byte());
      break;
    case 2:
      attributes.wholes("value_ints", {choices.byte(), -1, 2});
      break;
    default:
      attributes.tensor("value",
                        maker.tensor("", maker.array(some_type(choices),
                                                     some_shape(choices, 0, 3),
                                                     Contents::any)));
  }
  maker.node(op, {}, attributes, {{}});
}

void matmul(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const DType dtype = some_number(choices);
  const Shape batch = some_shape(choices, 0, 2);
  const std::size_t m = choices.from_to(1, 4);
  const std::size_t k = choices.from_to(0, 4);
  const std::size_t n = choices.from_to(1, 4);
  Shape a = batch;
  Shape b = narrower(choices, batch);
  a.insert(a.end(), {m, k});
  b.insert(b.end(), {k, n});
  if (choices.one_in(8)) {
    a = {k};
  }
  if (choices.one_in(8)) {
    b = {k};
  }
  const std::string first = maker.value(dtype, a);
  maker.node(op, {first, maker.value(dtype, b)}, {}, {{}});
}

void gemm(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const DType dtype = some_floating(choices);
  const std::size_t m = choices.from_to(0, 4);
  const std::size_t k = choices.from_to(0, 4);
  const std::size_t n = choices.from_to(1, 4);
  const bool turned_a = choices.one_in(2);
  const bool turned_b = choices.one_in(2);
  Attributes attributes;
  attributes.whole("transA", turned_a ? 1 : 0)
      .whole("transB", turned_b ? 1 : 0);
  if (choices.one_in(2)) {
    attributes.real("alpha", 0.5F).real("beta", -2);
  }
  std::vector<std::string> inputs{
      maker.value(dtype, turned_a ? Shape{k, m} : Shape{m, k}),
      maker.value(dtype, turned_b ? Shape{n, k} : Shape{k, n})};
  if (choices.one_in(2)) {
    inputs.push_back(maker.value(dtype, narrower(choices, {m, n})));
  }
  maker.node(op, inputs, attributes, dtype, {m, n});
}

void normalization(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const DType dtype = some_floating(choices);
  const Shape shape = some_shape(choices, 1, 4);
  const std::size_t axis = choices.below(shape.size());
  const Shape inner(shape.begin() + signed_of(axis), shape.end());
  Attributes attributes;
  attributes.whole("axis", some_axis(choices, axis, shape.size()));
  if (choices.one_in(2)) {
    attributes.real("epsilon", 1e-3F);
  }
  std::vector<std::string> inputs{maker.value(dtype, shape),
                                  maker.value(dtype, inner)};
  std::vector<Made> outputs{{dtype, shape, true}};
  if (op == "LayerNormalization") {
    if (choices.one_in(2)) {
      inputs.push_back(maker.value(dtype, inner));
    }
    outputs.resize(choices.from_to(1, 3));
  }
  maker.node(op, inputs, attributes, outputs);
}

void without_last_gaps(std::vector<std::string>& inputs) {
  while (inputs.back().empty()) {
    inputs.pop_back();
  }
}

void attention(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const DType dtype = some_floating(choices);
  const bool merged = choices.one_in(2);
  const std::size_t B = choices.from_to(1, 2);
  const std::size_t Hkv = choices.from_to(1, 2);
  const std::size_t Hq = Hkv * choices.from_to(1, 2);
  const std::size_t Lq = choices.from_to(1, 5);
  const std::size_t new_keys = choices.from_to(1, 5);
  const std::size_t D = choices.from_to(1, 5);
  const std::size_t Dv = choices.from_to(1, 5);
  const auto heads = [&](std::size_t H, std::size_t L, std::size_t width) {
    return merged ? Shape{B, L, H * width} : Shape{B, H, L, width};
  };
  const std::size_t past =
      choices.one_in(4) ? choices.from_to(0, 4) : std::size_t{0};
  const bool has_past = past > 0;
  const std::size_t keys = past + new_keys;
  std::vector<std::string> inputs(7);
  inputs[0] = maker.value(dtype, heads(Hq, Lq, D));
  inputs[1] = maker.value(dtype, heads(Hkv, new_keys, D));
  inputs[2] = maker.value(dtype, heads(Hkv, new_keys, Dv));
  if (choices.one_in(2)) {
    Shape mask = narrower(choices, {B, Hq, Lq, keys});
    if (mask.empty()) {
      mask = {keys};
    }
    mask.back() = choices.one_in(8) ? choices.below(keys) : keys;
    inputs[3] = maker.value(choices.one_in(2) ? DType::boolean : dtype, mask);
  }
  if (has_past) {
    inputs[4] = maker.value(dtype, {B, Hkv, past, D});
    inputs[5] = maker.value(dtype, {B, Hkv, past, Dv});
  } else if (maker.opset() >= 24 && choices.one_in(4)) {
    inputs[6] = maker.indices({B}, 0, signed_of(keys));
  }
  without_last_gaps(inputs);
  Attributes attributes;
  if (merged) {
    attributes.whole("q_num_heads", signed_of(Hq))
        .whole("kv_num_heads", signed_of(Hkv));
  }
  if (choices.one_in(2)) {
    attributes.whole("is_causal", 1);
  }
  if (choices.one_in(4)) {
    attributes.real("scale", 0.5F);
  }
  if (choices.one_in(4)) {
    attributes.real("softcap", 2);
  }
  if (choices.one_in(4)) {
    attributes.whole("softmax_precision",
                     signed_of(onnx_type(some_floating(choices))));
  }
  if (maker.opset() >= 25 && choices.one_in(2)) {
    attributes.whole("left_window_size", signed_of(choices.from_to(0, 4)) - 1)
        .whole("right_window_size", signed_of(choices.from_to(0, 4)) - 1);
  }
  std::vector<Made> outputs{{dtype, heads(Hq, Lq, Dv), true},
                            {dtype, {B, Hkv, keys, D}, true},
                            {dtype, {B, Hkv, keys, Dv}, true},
                            {dtype, {B, Hq, Lq, keys}, true}};
  outputs.resize(choices.from_to(1, 4));
  if (outputs.size() == 4) {
    attributes.whole("qk_matmul_output_mode", signed_of(choices.below(4)));
  }
  maker.node(op, inputs, attributes, outputs);
}

DType some_contrib_type(Choices& choices) {
  return choices.one_in(2) ? DType::float32 : DType::float16;
}

// A mask of numbers for (B, H, Lq, Lkv).
std::string added_bias(ModelMaker& maker, DType dtype, const Shape& scores) {
  Shape shape = scores;
  shape[0] = maker.choices().one_in(2) ? 1 : shape[0];
  shape[1] = maker.choices().one_in(2) ? 1 : shape[1];
  return maker.value(dtype, shape);
}

void multi_head_attention(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const DType dtype = some_contrib_type(choices);
  const std::size_t B = choices.from_to(1, 2);
  const std::size_t H = choices.from_to(1, 2);
  const std::size_t Lq = choices.from_to(1, 4);
  const std::size_t keys = choices.from_to(1, 4);
  const std::size_t D = choices.from_to(1, 4);
  const std::size_t Dv = choices.from_to(1, 4);
  std::vector<std::string> inputs(8);
  const std::size_t kind = choices.below(4);
  std::size_t Lkv = keys;
  std::size_t width = Dv;
  if (kind == 0) {
    inputs[0] = maker.value(dtype, {B, Lq, H, 3, D});
    Lkv = Lq;
    width = D;
  } else {
    inputs[0] = maker.value(dtype, {B, Lq, H * D});
    if (kind == 1) {
      inputs[1] = maker.value(dtype, {B, keys, H, 2, D});
      width = D;
    } else {
      inputs[1] = maker.value(
          dtype, kind == 2 ? Shape{B, keys, H * D} : Shape{B, H, keys, D});
      inputs[2] = maker.value(
          dtype, kind == 2 ? Shape{B, keys, H * Dv} : Shape{B, H, keys, Dv});
    }
  }
  if (choices.one_in(2)) {
    inputs[3] = maker.value(dtype, {H * (2 * D + width)});
  }
  const std::size_t past = choices.one_in(4) ? choices.from_to(1, 3) : 0;
  if (past > 0) {
    inputs[6] = maker.value(dtype, {B, H, past, D});
    inputs[7] = maker.value(dtype, {B, H, past, width});
  }
  Lkv += past;
  if (choices.one_in(4)) {
    inputs[4] =
        maker.value(DType::int32, choices.one_in(2) ? Shape{B, Lkv} : Shape{B},
                    Contents::positive);
  }
  if (choices.one_in(4)) {
    inputs[5] = added_bias(maker, dtype, {B, H, Lq, Lkv});
  }
  without_last_gaps(inputs);
  Attributes attributes;
  attributes.whole("num_heads", signed_of(H));
  if (choices.one_in(2)) {
    attributes.whole("unidirectional", 1);
  }
  maker.node({op, kContribDomain}, inputs, attributes,
             std::vector<Made>(choices.from_to(1, 4)));
}

void group_query_attention(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const DType dtype = some_contrib_type(choices);
  const std::size_t B = choices.from_to(1, 2);
  const std::size_t Hkv = choices.from_to(1, 2);
  const std::size_t Hq = Hkv * choices.from_to(1, 2);
  const std::size_t L = choices.from_to(1, 4);
  const std::size_t D = 2 * choices.from_to(1, 3);
  const std::size_t past = choices.one_in(2) ? choices.from_to(1, 4) : 0;
  const std::size_t total = L + past;
  std::vector<std::string> inputs(12);
  if (choices.one_in(2)) {
    inputs[0] = maker.value(dtype, {B, L, (Hq + 2 * Hkv) * D});
  } else {
    inputs[0] = maker.value(dtype, {B, L, Hq * D});
    inputs[1] = maker.value(dtype, {B, L, Hkv * D});
    inputs[2] = maker.value(dtype, {B, L, Hkv * D});
  }
  if (past > 0) {
    inputs[3] = maker.value(dtype, {B, Hkv, past, D});
    inputs[4] = maker.value(dtype, {B, Hkv, past, D});
  }
  inputs[5] = maker.indices({B}, signed_of(total) - 1, signed_of(total) - 1,
                            DType::int32);
  inputs[6] =
      maker.indices({1}, signed_of(total), signed_of(total), DType::int32);
  Attributes attributes;
  attributes.whole("num_heads", signed_of(Hq))
      .whole("kv_num_heads", signed_of(Hkv));
  if (choices.one_in(2)) {
    attributes.whole("do_rotary", 1);
    inputs[7] = maker.value(dtype, {8, D / 2});
    inputs[8] = maker.value(dtype, {8, D / 2});
    if (choices.one_in(2)) {
      inputs[9] = maker.indices({B, L}, 0, 7);
    }
  }
  if (choices.one_in(4)) {
    inputs[10] = added_bias(maker, dtype, {B, Hq, L, total});
  }
  if (choices.one_in(4)) {
    inputs[11] = maker.value(dtype, {Hq});
  }
  if (choices.one_in(4)) {
    attributes.whole("local_window_size", signed_of(choices.from_to(1, 4)));
  }
  without_last_gaps(inputs);
  maker.node({op, kContribDomain}, inputs, attributes,
             std::vector<Made>(choices.from_to(1, 3)));
}

void contrib_attention(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const DType dtype = some_contrib_type(choices);
  const std::size_t B = choices.from_to(1, 2);
  const std::size_t H = choices.from_to(1, 2);
  const std::size_t L = choices.from_to(1, 4);
  const std::size_t D = choices.from_to(1, 3);
  const std::size_t features = choices.from_to(1, 4);
  const std::size_t past = choices.one_in(4) ? choices.from_to(1, 3) : 0;
  std::vector<std::string> inputs(6);
  inputs[0] = maker.value(dtype, {B, L, features});
  inputs[1] = maker.value(dtype, {features, 3 * H * D});
  if (choices.one_in(2)) {
    inputs[2] = maker.value(dtype, {3 * H * D});
  }
  if (choices.one_in(4)) {
    inputs[3] = maker.value(DType::int32,
                            choices.one_in(2) ? Shape{B, past + L} : Shape{B},
                            Contents::positive);
  }
  if (past > 0) {
    inputs[4] = maker.value(dtype, {2, B, H, past, D});
  }
  if (choices.one_in(4)) {
    inputs[5] = added_bias(maker, dtype, {B, H, L, past + L});
  }
  without_last_gaps(inputs);
  Attributes attributes;
  attributes.whole("num_heads", signed_of(H));
  if (choices.one_in(2)) {
    attributes.whole("unidirectional", 1);
  }
  maker.node({op, kContribDomain}, inputs, attributes,
             std::vector<Made>(choices.from_to(1, 2)));
}

// Attention that a graph spells out, which runs as one.
void spelled_attention(ModelMaker& maker) {
  Choices& choices = maker.choices();
  const DType dtype = some_floating(choices);
  const Shape outer = some_shape(choices, 0, 2);
  const std::size_t Lq = choices.from_to(1, 4);
  const std::size_t Lkv = choices.from_to(1, 4);
  const auto matrix = [&outer](std::size_t rows, std::size_t columns) {
    Shape shape = outer;
    shape.insert(shape.end(), {rows, columns});
    return shape;
  };
  const std::size_t D = choices.from_to(1, 4);
  const Shape scores = matrix(Lq, Lkv);
  const std::string query = maker.value(dtype, matrix(Lq, D));
  const std::string key =
      choices.one_in(2)
          ? maker.value(dtype, matrix(D, Lkv))
          : maker.node("Transpose", {maker.value(dtype, matrix(Lkv, D))}, {},
                       dtype, matrix(D, Lkv));
  std::string made = maker.node("MatMul", {query, key}, {}, {{}});
  for (std::size_t steps = choices.below(4); steps > 0; --steps) {
    if (choices.one_in(4)) {
      const std::string flags =
          maker.value(DType::boolean, narrower(choices, scores));
      const std::string fill = maker.value(dtype, {});
      made = choices.one_in(2)
                 ? maker.node("Where", {flags, made, fill}, {}, {{}})
                 : maker.node("Where", {flags, fill, made}, {}, {{}});
      continue;
    }
    const std::string other = maker.value(
        dtype, choices.one_in(2) ? Shape{} : narrower(choices, scores));
    const char* op = choices.of({"Mul", "Div", "Add"});
    made = choices.one_in(4) ? maker.node(op, {other, made}, {}, {{}})
                             : maker.node(op, {made, other}, {}, {{}});
  }
  made = maker.node("Softmax", {made}, Attributes().whole("axis", -1), {{}});
  maker.node("MatMul",
             {made, maker.value(dtype, matrix(Lkv, choices.from_to(1, 4)))}, {},
             {{}});
}

void rotary_embedding(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const DType dtype = some_floating(choices);
  const bool merged = choices.one_in(2);
  const std::size_t B = choices.from_to(1, 2);
  const std::size_t H = choices.from_to(1, 2);
  const std::size_t L = choices.from_to(1, 3);
  const std::size_t half = choices.from_to(1, 3);
  const std::size_t D = 2 * half + (choices.one_in(4) ? 2 : 0);
  const Shape shape = merged ? Shape{B, L, H * D} : Shape{B, H, L, D};
  Attributes attributes;
  attributes.whole("interleaved", choices.one_in(2) ? 1 : 0);
  if (merged) {
    attributes.whole("num_heads", signed_of(H));
  }
  if (D != 2 * half) {
    attributes.whole("rotary_embedding_dim", signed_of(2 * half));
  }
  const bool positions = choices.one_in(2);
  const Shape cache = positions ? Shape{4, half} : Shape{B, L, half};
  std::vector<std::string> inputs{maker.value(dtype, shape),
                                  maker.value(dtype, cache),
                                  maker.value(dtype, cache)};
  if (positions) {
    inputs.push_back(maker.indices({B, L}, 0, 3));
  }
  maker.node(op, inputs, attributes, dtype, shape);
}

void tensor_scatter(ModelMaker& maker, std::string_view op) {
  Choices& choices = maker.choices();
  const DType dtype = some_type(choices);
  Shape shape = some_shape(choices, 2, 4);
  const std::size_t axis = choices.from_to(1, shape.size() - 1);
  shape[axis] = choices.from_to(1, 4);
  Shape update = shape;
  update[axis] = choices.from_to(1, shape[axis]);
  const bool circular = choices.one_in(2);
  Attributes attributes;
  attributes.whole("axis", some_axis(choices, axis, shape.size()))
      .text("mode", circular ? "circular" : "linear");
  std::vector<std::string> inputs{maker.value(dtype, shape),
                                  maker.value(dtype, update)};
  if (choices.one_in(2)) {
    inputs.push_back(maker.indices(
        {shape[0]}, 0, circular ? 9 : signed_of(shape[axis] - update[axis])));
  }
  maker.node(op, inputs, attributes, dtype, shape);
}

// Inputs of any kind, which seldom fit, and attributes of any kind.
void any_inputs(ModelMaker& maker, const OnnxOperator& op) {
  Choices& choices = maker.choices();
  std::vector<std::string> inputs;
  const std::size_t most = std::min<std::size_t>(op.inputs, op.needed + 3);
  for (std::size_t i = choices.from_to(op.needed, most); i > 0; --i) {
    inputs.push_back(maker.any_value());
  }
  Attributes attributes;
  for (const std::string_view name : op.attributes) {
    if (first_opset_of(op, name) > maker.opset()) {
      continue;
    }
    switch (choices.below(6)) {
      case 0:
        attributes.whole(name, signed_of(choices.below(16)) - 2);
        break;
      case 1:
        attributes.real(name, static_cast<float>(choices.below(4)));
        break;
      case 2:
        attributes.wholes(name, {signed_of(choices.below(4)), 1, 0});
        break;
      case 3:
        attributes.text(name, choices.of({"none", "tanh", "linear", ""}));
        break;
      default:
        break;
    }
  }
  const std::size_t outputs = std::min<std::size_t>(op.outputs, 3);
  maker.node(op.name, inputs, attributes,
             std::vector<Made>(choices.from_to(1, outputs)));
}

// A tensor far larger than the file, for each input that the operator needs.
void large_inputs(ModelMaker& maker, const OnnxOperator& op) {
  Choices& choices = maker.choices();
  const std::size_t length = choices.from_to(1, 256);
  const Shape shape = choices.of<Shape>({{length, length},
                                         {1, 1, length, choices.from_to(1, 64)},
                                         {256 * length},
                                         {length, 3, length}});
  const DType dtype = some_type(choices);
  const std::string x =
      maker.value(dtype, choices.one_in(2) ? Shape{} : Shape{1});
  const std::string extents =
      maker.list(std::vector<std::int64_t>(shape.begin(), shape.end()));
  const std::string large = maker.node("Expand", {x, extents}, {}, {{}});
  Attributes attributes;
  if (op.name == "Cast") {
    attributes.whole("to", signed_of(onnx_type(some_type(choices))));
  } else if (std::ranges::find(op.attributes, "axis") != op.attributes.end()) {
    attributes.whole("axis", signed_of(choices.below(2)));
  }
  const std::size_t most = std::min<std::size_t>(op.inputs, 3);
  maker.node(
      op.name, std::vector<std::string>(std::max(op.needed, most), large),
      attributes, std::vector<Made>(std::min<std::size_t>(op.outputs, 4)));
}

struct Maker {
  std::string_view op;
  void (*add)(ModelMaker& maker, std::string_view op);
};

constexpr auto kMakers = std::to_array<Maker>({
    {"Abs", unary},
    {"Add", binary},
    {"And", compare},
    {"Attention", attention},
    {"Cast", cast},
    {"CastLike", cast_like},
    {"Concat", concat},
    {"Constant", constant},
    {"ConstantOfShape", filled},
    {"Cos", unary},
    {"Div", binary},
    {"Equal", compare},
    {"Erf", unary},
    {"Exp", unary},
    {"Expand", expand},
    {"Flatten", flatten},
    {"Floor", unary},
    {"Gather", gather},
    {"Gelu", unary},
    {"Gemm", gemm},
    {"Greater", compare},
    {"GreaterOrEqual", compare},
    {"Identity", unary},
    {"LayerNormalization", normalization},
    {"Less", compare},
    {"LessOrEqual", compare},
    {"Log", unary},
    {"LogSoftmax", unary},
    {"MatMul", matmul},
    {"Max", variadic},
    {"Min", variadic},
    {"Mod", remainder},
    {"Mul", binary},
    {"Neg", unary},
    {"Not", negation},
    {"Or", compare},
    {"Pad", pad},
    {"Pow", binary},
    {"RMSNormalization", normalization},
    {"Range", range},
    {"Reciprocal", unary},
    {"ReduceMax", reduction},
    {"ReduceMean", reduction},
    {"ReduceMin", reduction},
    {"ReduceSum", reduction},
    {"Relu", unary},
    {"Reshape", reshape},
    {"RotaryEmbedding", rotary_embedding},
    {"Shape", shape_of},
    {"Sigmoid", unary},
    {"Sin", unary},
    {"Slice", slice},
    {"Softmax", unary},
    {"Split", split},
    {"Sqrt", unary},
    {"Squeeze", squeeze},
    {"Sub", binary},
    {"Sum", variadic},
    {"Tanh", unary},
    {"TensorScatter", tensor_scatter},
    {"Transpose", transpose},
    {"Trilu", triangle},
    {"Unsqueeze", squeeze},
    {"Where", where},
    {"Xor", compare},
});

constexpr auto kContribMakers = std::to_array<Maker>({
    {"Attention", contrib_attention},
    {"GroupQueryAttention", group_query_attention},
    {"MultiHeadAttention", multi_head_attention},
});

}  // namespace

void add_random_node(ModelMaker& maker) {
  Choices& choices = maker.choices();
  switch (choices.below(16)) {
    case 0: {
      const Maker& contrib = choices.of(kContribMakers);
      contrib.add(maker, contrib.op);
      return;
    }
    case 1:
      spelled_attention(maker);
      return;
    default:
      break;
  }
  const OnnxOperator* op = &choices.of(onnx_operators());
  while (op->since > maker.opset()) {
    op = &choices.of(onnx_operators());
  }
  const auto* const known = std::ranges::find(kMakers, op->name, &Maker::op);
  if (choices.one_in(16)) {
    large_inputs(maker, *op);
    return;
  }
  // The others, and now and then these, take what is there.
  if (known == kMakers.end() || choices.one_in(64)) {
    any_inputs(maker, *op);
  } else {
    known->add(maker, op->name);
  }
}

}  // namespace headwise::testing_support
