// Whether one attention gives what the nodes of a fusion give, and its tensors.
#include "onnx/fusion_tensors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "onnx/attention_views.h"
#include "onnx/broadcast.h"
#include "onnx/lines.h"
#include "onnx/numbers.h"
#include "onnx/reshape.h"
#include "onnx/strided.h"
#include "onnx/tensor_data.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr double kMaskedBias = -std::numeric_limits<double>::infinity();
// Beyond this the sum of a score and its mask has lost digits that the nodes
// and attention() round differently.
constexpr double kLargestMask = 100;
// A finite fill hides a key wholly if it is at most this, and no score is below
// half of it.
constexpr double kHidingFill = -1e4;
constexpr double kLargestScore = 5e3;
// Products of numbers below it do not overflow.
constexpr double kLargestProduct = 1e30;

using Extents4 = std::array<std::size_t, 4>;

// The extents along B, H and the last two axes of a tensor of 2 to 4 axes. One
// of three axes has a head per sequence.
Extents4 four_axes(const std::vector<std::size_t>& shape) {
  const std::size_t rank = shape.size();
  return {rank > 2 ? shape[0] : 1, rank > 3 ? shape[1] : 1, shape[rank - 2],
          shape[rank - 1]};
}

// The largest norm of a line along an axis, counted from the end; infinite or
// NaN if an element is.
double largest_norm(const Array& array, std::size_t axis_from_end) {
  const Lines lines(array.shape, array.shape.size() - axis_from_end);
  double largest = 0;
  for (std::size_t line = 0; line < lines.count; ++line) {
    const float* numbers = floats(array) + lines.first(line);
    double sum = 0;
    for (std::size_t d = 0; d < lines.length; ++d) {
      const double x = numbers[d * lines.step];
      sum += x * x;
    }
    if (!std::isfinite(sum)) {
      return sum;
    }
    largest = std::max(largest, sum);
  }
  return std::sqrt(largest);
}

using Shape = std::vector<std::size_t>;

bool is_false(const Array& array) {
  return array.dtype == DType::boolean && element_count(array.shape) == 1 &&
         integers_of(array).front() == 0;
}

// What the steps do to the scores: a factor, perhaps a cap, then numbers that
// are added.
class Masking {
 public:
  // `scores`: B, H, Lq, Lkv. `shape`: how the graph writes them; it may write
  // them in other ways, too.
  Masking(const Extents4& scores, Shape shape, double factor)
      : scores_(scores),
        shape_(std::move(shape)),
        scale_(factor),
        largest_scale_(std::max(1.0, factor)) {}

  // `shape`: of the scores before the step. False if the nodes must run one by
  // one.
  bool add(const FusionStep& step, const Shape& shape,
           const ValueOf& value_of) {
    using Kind = FusionStep::Kind;
    switch (step.kind) {
      case Kind::multiply:
      case Kind::divide:
        return scale(step.kind == Kind::multiply, value_of(step.operand),
                     shape);
      case Kind::tanh:
        capped_scale_ = std::exchange(scale_, 1);
        // A cap behind a mask would cap the mask.
        return !given_ && !std::exchange(capped_, true) &&
               capped_scale_ >= 1 / kLargestProduct;
      case Kind::add: {
        const Array& mask = value_of(step.operand);
        return mask.dtype == DType::float32 &&
               combine(mask, shape, [this](double& sum, double number) {
                 allowed_ = allowed_ && number <= kLargestMask;
                 sum += number;
               });
      }
      case Kind::fill_where_true:
      case Kind::fill_where_false:
        return fill(step.kind == Kind::fill_where_true ? 1 : 0,
                    value_of(step.operand), value_of(step.fill), shape);
      case Kind::softmax:
        return step.number == -1 ||
               step.number == static_cast<std::int64_t>(shape.size()) - 1;
      case Kind::replace_nan:
        replaces_nan_ = true;
        return number(value_of(step.operand), shape) == 0.0;
      case Kind::cast:
        return dtype_of_onnx(step.number) == DType::float32;
      case Kind::dropout:
        return step.operand.empty() || is_false(value_of(step.operand));
      case Kind::identity:
      case Kind::reshape:
      case Kind::flatten:
        return true;
    }
    return false;
  }

  // The rows must be hidden wholly, or have a mask that is not far from 0.
  bool allowed() const {
    if (!allowed_ || !(scale_ > 0 && std::isfinite(scale_))) {
      return false;
    }
    for (std::size_t first = 0; first < numbers_.size(); first += extents_[3]) {
      const double largest =
          std::ranges::max(std::span(numbers_).subspan(first, extents_[3]));
      const bool hidden = largest == kMaskedBias && !finite_fill_;
      if (!hidden && !(std::abs(largest) <= kLargestMask)) {
        return false;
      }
    }
    return true;
  }

  double scale() const { return capped_ ? capped_scale_ * scale_ : scale_; }
  std::optional<double> softcap() const {
    return capped_ ? std::optional(scale_) : std::nullopt;
  }
  // The largest behind any step: the nodes must not overflow there.
  double largest_scale() const { return largest_scale_; }
  bool replaces_nan() const { return replaces_nan_; }
  bool finite_fill() const { return finite_fill_; }
  std::optional<OnnxAttentionMask> mask() {
    if (!given_) {
      return std::nullopt;
    }
    OnnxAttentionMask mask;
    mask.extents = extents_;
    mask.numbers = std::move(numbers_);
    return mask;
  }

 private:
  // A scalar that does not change the shape of the scores.
  static std::optional<double> number(const Array& array, const Shape& shape) {
    return array.dtype == DType::float32 &&
                   array.shape.size() <= shape.size() &&
                   element_count(array.shape) == 1
               ? std::optional(doubles_of(array).front())
               : std::nullopt;
  }

  bool scale(bool multiplies, const Array& operand, const Shape& shape) {
    const auto factor = number(operand, shape);
    // A factor after a mask would scale the mask.
    if (!factor || given_) {
      return false;
    }
    scale_ = multiplies ? scale_ * *factor : scale_ / *factor;
    largest_scale_ = std::max(largest_scale_, scale_);
    return scale_ >= 1 / kLargestProduct;
  }

  bool fill(double hides, const Array& condition, const Array& with,
            const Shape& shape) {
    const auto number_there = number(with, shape);
    // NaN does not hide a key.
    if (!number_there || !(*number_there <= kHidingFill) ||
        condition.dtype != DType::boolean) {
      return false;
    }
    finite_fill_ = finite_fill_ || std::isfinite(*number_there);
    return combine(condition, shape, [hides](double& sum, double flag) {
      sum = flag == hides ? kMaskedBias : sum;
    });
  }

  // The extents along B, H, Lq and Lkv of a mask that is broadcast to `shape`.
  std::optional<Extents4> mask_extents(const Array& mask,
                                       const Shape& shape) const {
    if (!broadcasts_to(mask.shape, shape)) {
      return std::nullopt;
    }
    Shape aligned(shape.size() - mask.shape.size(), 1);
    aligned.insert(aligned.end(), mask.shape.begin(), mask.shape.end());
    if (shape == shape_) {
      return four_axes(aligned);
    }
    const auto [B, H, Lq, Lkv] = scores_;
    const std::size_t rank = shape.size();
    const std::size_t all = element_count(std::span(aligned).first(rank - 1));
    // One row, one per query, one per head, or all of them.
    const bool by_query = rank > 1 && shape[rank - 2] == Lq;
    const std::size_t rows = by_query            ? aligned[rank - 2]
                             : all == B * H * Lq ? Lq
                                                 : 1;
    if (all == rows) {
      return Extents4{1, 1, rows, aligned.back()};
    }
    return all == B * H * rows
               ? std::optional(Extents4{B, H, rows, aligned.back()})
               : std::nullopt;
  }

  // Combines every number with the element of a mask that is broadcast to it.
  template <class Combine>
  bool combine(const Array& mask, const Shape& shape, Combine one) {
    const auto given = mask_extents(mask, shape);
    if (!given) {
      return false;
    }
    Extents4 both{};
    std::ranges::transform(extents_, *given, both.begin(), std::ranges::max);
    if (!widen(both)) {
      return false;
    }
    const std::vector<double> elements = doubles_of(mask);
    const auto strides = broadcast_strides(*given, extents_);
    std::size_t n = 0;
    for (Odometer at(extents_); !at.done(); at.next(), ++n) {
      one(numbers_[n], elements[at.offset(strides)]);
    }
    return true;
  }

  // False if the node that runs has no memory for it.
  bool widen(const Extents4& extents) {
    if (given_ && extents == extents_) {
      return true;
    }
    if (!check_size(extents)) {
      return false;
    }
    std::vector<double> wide(element_count(extents));
    const auto strides = broadcast_strides(extents_, extents);
    std::size_t n = 0;
    for (Odometer at(extents); !at.done(); at.next(), ++n) {
      wide[n] = numbers_[at.offset(strides)];
    }
    numbers_ = std::move(wide);
    extents_ = extents;
    given_ = true;
    return true;
  }

  Extents4 scores_;
  Shape shape_;
  double scale_;
  double largest_scale_;
  double capped_scale_ = 1;  // before the cap
  bool capped_ = false;
  bool replaces_nan_ = false;
  bool given_ = false;
  bool finite_fill_ = false;
  bool allowed_ = true;
  Extents4 extents_{1, 1, 1, 1};
  std::vector<double> numbers_{0};
};

// The shapes of the scores: of the first product, and behind each step. Nothing
// if one changes the axis of the keys.
std::optional<std::vector<Shape>> shapes_of_scores(const Array& query,
                                                   const Array& key,
                                                   const OnnxFusion& fusion,
                                                   const ValueOf& value_of) {
  Shape shape = query.shape;
  shape.back() = key.shape.back();
  std::vector<Shape> shapes{shape};
  std::map<std::string_view, Shape> shape_of{{fusion.scores, shape}};
  for (const FusionStep& step : fusion.steps) {
    std::optional<Shape> next = shape;
    if (step.kind == FusionStep::Kind::flatten) {
      next = flattened(shape, step.number);
    } else if (step.kind == FusionStep::Kind::reshape && step.operand.empty()) {
      next = shape_of.at(step.fill);
    } else if (step.kind == FusionStep::Kind::reshape) {
      const Array& wanted = value_of(step.operand);
      next = wanted.dtype == DType::int64
                 ? reshaped(shape, integers_of(wanted), step.number != 0)
                 : std::nullopt;
    }
    if (!next || next->empty() || next->back() != key.shape.back()) {
      return std::nullopt;
    }
    shape = *std::move(next);
    shapes.push_back(shape);
    shape_of[step.result] = shape;
  }
  return shapes;
}

bool is_float_matrix(const Array& array) {
  return array.dtype == DType::float32 && array.shape.size() >= 2 &&
         array.shape.size() <= 4 && !array.data.empty();
}

// Whether two shapes have the same axes before their last two.
bool same_batch(const Shape& a, const Shape& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end() - 2, b.begin());
}

// Of the first shape that has an axis of heads, or of the first: exports change
// between (B, H, Lq, Lkv) and (B * H, Lq, Lkv).
const Shape& shape_with_heads(const std::vector<Shape>& shapes) {
  const auto found = std::ranges::find_if(shapes, [&](const Shape& shape) {
    return shape.size() == 4 && shape[2] == shapes[0][shapes[0].size() - 2];
  });
  return found == shapes.end() ? shapes.front() : *found;
}

// Q (B, H, Lq, D), K^T (B, H, D, Lkv) and, of the rank of the weights, V (B, H,
// Lkv, Dv).
bool fit_together(const Array& query, const Array& key, const Array& value,
                  const Shape& weights) {
  const std::size_t rank = query.shape.size();
  const std::size_t last = weights.size();
  return same_batch(query.shape, key.shape) &&
         key.shape[rank - 2] == query.shape.back() &&
         same_batch(weights, value.shape) &&
         weights[last - 2] == query.shape[rank - 2] &&
         value.shape[last - 2] == weights.back();
}

// The operand of a product, which `turned` holds if it is not held as it is.
Result<const Array*> turned_operand(const FusionOperand& operand,
                                    const ValueOf& value_of, Array& turned) {
  const Array& held = value_of(operand.name);
  if (operand.turn == OperandTurn()) {
    return &held;
  }
  HEADWISE_ASSIGN(turned,
                  permuted(held, operand.turn.order(held.shape.size())));
  return &turned;
}

}  // namespace

Result<std::unique_ptr<FusionTensors>> fusion_tensors(const OnnxFusion& fusion,
                                                      const ValueOf& value_of) {
  const auto node_by_node = [] { return std::unique_ptr<FusionTensors>(); };
  auto tensors = std::make_unique<FusionTensors>();
  Array turned_key;
  Array turned_value;
  HEADWISE_ASSIGN(const auto query_or_not,
                  turned_operand(fusion.query, value_of, tensors->query));
  HEADWISE_ASSIGN(const auto key_or_not,
                  turned_operand(fusion.transposed_key, value_of, turned_key));
  HEADWISE_ASSIGN(const auto value_or_not,
                  turned_operand(fusion.value, value_of, turned_value));
  const Array& query = *query_or_not;
  const Array& key = *key_or_not;
  const Array& value = *value_or_not;
  if (!is_float_matrix(query) || !is_float_matrix(key) ||
      !is_float_matrix(value)) {
    return node_by_node();
  }
  const auto shapes = shapes_of_scores(query, key, fusion, value_of);
  if (!shapes || !fit_together(query, key, value, shapes->back())) {
    return node_by_node();
  }
  const Shape& shape = shape_with_heads(*shapes);
  const Extents4 scores = four_axes(shape);
  Masking masking(scores, shape, fusion.factor);
  for (std::size_t n = 0; n < fusion.steps.size(); ++n) {
    if (!masking.add(fusion.steps[n], (*shapes)[n], value_of)) {
      return node_by_node();
    }
  }
  const double product = largest_norm(query, 1) * largest_norm(key, 2);
  const double score = product * masking.scale();
  const bool bounded = product * masking.largest_scale() <= kLargestProduct &&
                       (!masking.finite_fill() || score <= kLargestScore) &&
                       largest_norm(value, 1) <= kLargestProduct;
  if (!bounded || !masking.allowed()) {
    return node_by_node();
  }
  const auto [B, H, Lq, L] = scores;
  const std::size_t D = query.shape.back();
  const std::size_t Dv = value.shape.back();
  HEADWISE_ASSIGN(tensors->key,
                  gathered(key, {B, H, L, D},
                           std::array{H * D * L, D * L, std::size_t{1}, L}));
  const Shape value_shape{B, H, L, Dv};
  HEADWISE_ASSIGN(tensors->value,
                  gathered(value, value_shape, strides_of(value_shape)));
  tensors->output_shape = shapes->back();
  tensors->output_shape.back() = Dv;
  ReadyAttention& ready = tensors->ready;
  ready.call.sizes = {
      .B = B, .Hq = H, .Hkv = H, .Lq = Lq, .new_keys = L, .D = D, .Dv = Dv};
  ready.call.scale = masking.scale();
  ready.call.softcap = masking.softcap();
  ready.call.query_starts.assign(B, 0);
  ready.call.empty_rows =
      masking.replaces_nan() ? EmptyRow::zero : EmptyRow::nan;
  ready.mask = masking.mask();
  ready.query = &query;
  ready.key = &tensors->key;
  ready.value = &tensors->value;
  return tensors;
}

}  // namespace headwise::inline HEADWISE_ABI
