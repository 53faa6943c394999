#include "onnx/contrib_mask.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "onnx/attention_views.h"
#include "onnx/broadcast.h"
#include "onnx/numbers.h"
#include "onnx/strided.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// The input of integers: a key is masked by the index of its sequence, of its
// query and its own.
class IndexMask {
 public:
  static Result<IndexMask> create(const NodeCall& node,
                                  const ContribMaskInputs& inputs,
                                  const AttentionSizes& sizes) {
    IndexMask mask;
    if (!node.has(inputs.index)) {
      return mask;
    }
    const Array& given = node.in(inputs.index);
    HEADWISE_TRY(check_type(node, inputs.index, DType::int32));
    const std::size_t B = sizes.B;
    const std::size_t Lkv = sizes.Lkv();
    const auto& shape = given.shape;
    using Shape = std::vector<std::size_t>;
    mask.numbers_ = integers_of(given);
    mask.given_ = true;
    mask.batch_ = B;
    if (shape == Shape{B} || shape == Shape{3 * B + 2}) {
      mask.kind_ = Kind::ends;
    } else if (inputs.starts && shape == Shape{2 * B}) {
      mask.kind_ = Kind::ends_and_starts;
    } else if (shape == Shape{B, Lkv}) {
      mask.strides_ = {Lkv, 0, 1};
    } else if (shape == Shape{B, sizes.Lq, Lkv}) {
      mask.strides_ = {sizes.Lq * Lkv, Lkv, 1};
    } else {
      return node.wrong_shape(
          inputs.index, inputs.starts
                            ? "(B), (2B), (3B + 2), (B, Lkv) or (B, Lq, Lkv)"
                            : "(B), (3B + 2), (B, Lkv) or (B, Lq, Lkv)");
    }
    return mask;
  }

  bool given() const { return given_; }
  bool by_query() const { return strides_[1] > 0; }

  bool masks(std::size_t b, std::size_t i, std::size_t j) const {
    const auto key = static_cast<std::int64_t>(j);
    switch (kind_) {
      case Kind::ends:
        return key >= numbers_[b];
      case Kind::ends_and_starts:
        return key >= numbers_[b] || key < numbers_[batch_ + b];
      case Kind::flags:
        return numbers_[b * strides_[0] + i * strides_[1] + j * strides_[2]] ==
               0;
    }
    return false;
  }

 private:
  enum class Kind { flags, ends, ends_and_starts };

  bool given_ = false;
  Kind kind_ = Kind::flags;
  std::size_t batch_ = 0;
  std::array<std::size_t, 3> strides_{};
  std::vector<std::int64_t> numbers_;
};

Result<float> fill_value(const NodeCall& node) {
  HEADWISE_ASSIGN(const auto given, node.number("mask_filter_value"));
  if (given && std::isnan(*given)) {
    return node.attribute("mask_filter_value").bad_data("is NaN", "a number");
  }
  return static_cast<float>(given.value_or(-10000));
}

}  // namespace

Status check_attention_bias(const NodeCall& node, std::size_t input,
                            const AttentionSizes& sizes) {
  const auto& shape = node.in(input).shape;
  const bool fits = shape.size() == 4 &&
                    (shape[0] == 1 || shape[0] == sizes.B) &&
                    (shape[1] == 1 || shape[1] == sizes.Hq) &&
                    shape[2] == sizes.Lq && shape[3] == sizes.Lkv();
  return fits ? ok()
              : Status(node.wrong_shape(
                    input,
                    message(
                        "(B or 1, H or 1, Lq, Lkv) with (B, H, Lq, Lkv) = {}",
                        shape_text(std::array{sizes.B, sizes.Hq, sizes.Lq,
                                              sizes.Lkv()}))));
}

Result<std::optional<OnnxAttentionMask>> contrib_mask(
    const NodeCall& node, ContribInputs& tensors,
    const ContribMaskInputs& inputs, OnnxAttentionCall& call) {
  const AttentionSizes& sizes = call.sizes;
  HEADWISE_ASSIGN(const auto given_bias, tensors.floats_if_given(inputs.bias));
  const Array* bias = given_bias;
  call.empty_rows = EmptyRow::nan;
  HEADWISE_ASSIGN(const auto index, IndexMask::create(node, inputs, sizes));
  HEADWISE_ASSIGN(const auto fill, fill_value(node));
  HEADWISE_ASSIGN(const auto causal, node.flag("unidirectional"));
  if (bias != nullptr) {
    HEADWISE_TRY(check_attention_bias(node, inputs.bias, sizes));
  }
  if (!index.given() && bias == nullptr && !(causal && inputs.shown)) {
    call.causal = causal;
    return std::optional<OnnxAttentionMask>();
  }
  OnnxAttentionMask mask;
  const bool by_query = causal || index.by_query() || bias != nullptr;
  mask.extents = {index.given()     ? sizes.B
                  : bias != nullptr ? bias->shape[0]
                                    : 1,
                  bias != nullptr ? bias->shape[1] : 1, by_query ? sizes.Lq : 1,
                  sizes.Lkv()};
  HEADWISE_TRY(check_size(mask.extents));
  std::vector<double> numbers;
  numbers.reserve(element_count(mask.extents));
  const auto steps = broadcast_strides(
      bias != nullptr ? bias->shape : std::vector<std::size_t>(), mask.extents);
  for (Odometer at(mask.extents); !at.done(); at.next()) {
    const std::size_t i = at.index(2);
    const std::size_t j = at.index(3);
    float number = index.given() && index.masks(at.index(0), i, j) ? fill : 0;
    if (causal && j > i + sizes.past_keys) {
      number = std::numeric_limits<float>::lowest();
    }
    if (bias != nullptr) {
      number += floats(*bias)[at.offset(steps)];
    }
    numbers.push_back(number);
  }
  mask.numbers = std::move(numbers);
  return std::optional(std::move(mask));
}

}  // namespace headwise::inline HEADWISE_ABI
