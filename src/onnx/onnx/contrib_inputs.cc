#include "onnx/contrib_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "onnx/attention_views.h"
#include "onnx/numbers.h"
#include "onnx/strided.h"
#include "onnx/tensor_data.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Result<Array> gathered_with_bias(const Array& from, const HeadPlaces& places,
                                 const float* bias,
                                 const std::array<std::size_t, 4>& order) {
  std::vector<std::size_t> shape;
  std::vector<std::size_t> strides;
  for (const std::size_t axis : order) {
    shape.push_back(places.extents[axis]);
    strides.push_back(places.strides[axis]);
  }
  HEADWISE_ASSIGN(auto array, gathered(from, shape, strides, places.first));
  if (bias == nullptr) {
    return array;
  }
  std::array<std::size_t, 4> steps{};  // of the bias, (H, D)
  for (std::size_t n = 0; n < 4; ++n) {
    steps[n] = order[n] == 1 ? places.extents[3] : order[n] == 3 ? 1 : 0;
  }
  float* out = floats(array);
  for (Odometer at(array.shape); !at.done(); at.next(), ++out) {
    *out += bias[at.offset(steps)];
  }
  return array;
}

}  // namespace

Result<const Array*> ContribInputs::floats(std::size_t input) {
  const Array& given = node_.in(input);
  if (given.dtype != DType::float32 && given.dtype != DType::float16) {
    return wrong_type(node_, input, "float32 or float16");
  }
  HEADWISE_TRY(check_same_type(node_, input));
  if (given.dtype == DType::float32) {
    return &given;
  }
  if (const auto known = widened_.find(input); known != widened_.end()) {
    return &known->second;
  }
  HEADWISE_ASSIGN(auto wide,
                  array_from(doubles_of(given), given.shape, DType::float32));
  return &(widened_[input] = std::move(wide));
}

Result<const Array*> ContribInputs::floats_if_given(std::size_t input) {
  return node_.has(input) ? floats(input) : Result<const Array*>(nullptr);
}

Result<Array> ContribInputs::narrowed(Array array) const {
  const DType type = node_.in(0).dtype;
  if (array.data.empty() || array.dtype == type) {
    array.dtype = type;
    return array;
  }
  return array_from(doubles_of(array), array.shape, type);
}

Result<Outputs> ContribInputs::all_narrowed(
    std::initializer_list<Array*> arrays) const {
  Outputs outputs;
  for (Array* each : arrays) {
    HEADWISE_ASSIGN(auto narrow, narrowed(std::move(*each)));
    outputs.push_back(std::move(narrow));
  }
  return outputs;
}

HeadPlaces merged_heads(std::size_t batch, std::size_t length,
                        std::size_t features, std::size_t heads,
                        std::size_t size, std::size_t first) {
  return {.extents = {batch, heads, length, size},
          .strides = {length * features, size, features, 1},
          .first = first};
}

Result<Array> split_heads(const Array& from, const HeadPlaces& places,
                          const float* bias) {
  return gathered_with_bias(from, places, bias, {0, 1, 2, 3});
}

Result<Array> merged_query(const Array& from, const HeadPlaces& places,
                           const float* bias) {
  return gathered_with_bias(from, places, bias, {0, 2, 1, 3});
}

Result<Array> with_past(const Array* past,
                        const std::vector<std::size_t>& past_lengths,
                        const Array& made, std::size_t length) {
  const std::vector<std::size_t>& shape = made.shape;
  HEADWISE_ASSIGN(auto joined,
                  array_of({shape[0], shape[1], length, shape[3]}, made.dtype));
  std::ranges::fill(joined.data, std::byte{0});
  const std::size_t row = shape[3] * size_of(made.dtype);
  if (row == 0) {
    return joined;
  }
  for (std::size_t head = 0; head < shape[0] * shape[1]; ++head) {
    const std::size_t kept = past_lengths[head / shape[1]];
    std::byte* out = joined.data.data() + head * length * row;
    if (kept > 0) {
      std::memcpy(out, past->data.data() + head * past->shape[2] * row,
                  kept * row);
    }
    // Without new rows there may be no data at all.
    std::copy_n(made.data.data() + head * shape[2] * row, shape[2] * row,
                out + kept * row);
  }
  return joined;
}

Result<std::size_t> head_number(const NodeCall& node, std::string_view name) {
  HEADWISE_ASSIGN(const auto given, node.integer(name, 0));
  if (given < 1) {
    return node.attribute(name).bad_data(
        node.find(name) == nullptr ? "is left out" : message("is {}", given),
        "at least 1");
  }
  return static_cast<std::size_t>(given);
}

Result<double> contrib_scale(const NodeCall& node, std::size_t size) {
  if (size == 0) {
    return node.subject().error(ErrorCode::unsupported, "has a head size of 0",
                                "a head size of at least 1");
  }
  HEADWISE_ASSIGN(const auto given, node.number("scale"));
  return given.value_or(0) == 0 ? 1 / std::sqrt(static_cast<double>(size))
                                : *given;
}

Status refuse_attribute(const NodeCall& node, std::string_view name) {
  HEADWISE_ASSIGN(const auto given, node.integer(name, 0));
  return given == 0
             ? ok()
             : Status(node.attribute(name).error(ErrorCode::unsupported,
                                                 message("is {}", given), "0"));
}

Status refuse_inputs_from(const NodeCall& node, std::size_t first) {
  for (std::size_t i = first; i < node.input_count(); ++i) {
    if (node.has(i)) {
      return node.input(i).error(ErrorCode::unsupported,
                                 "is an input that headwise does not support",
                                 "an input that headwise supports");
    }
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
