// Whether one attention gives what the nodes of a fusion give, and its tensors.
#include "onnx/fusion_tensors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "base/check.h"
#include "onnx/numbers.h"
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

// The largest norm of a row or column of (..., rows, columns); infinite or NaN
// if an element is.
double largest_norm(const Array& array, const Extents4& extents, bool columns) {
  const auto* numbers = reinterpret_cast<const float*>(array.data.data());
  const std::size_t count = columns ? extents[3] : extents[2];
  const std::size_t length = columns ? extents[2] : extents[3];
  const std::size_t step = columns ? extents[3] : 1;
  double largest = 0;
  for (std::size_t matrix = 0; matrix < extents[0] * extents[1]; ++matrix) {
    for (std::size_t n = 0; n < count; ++n) {
      double sum = 0;
      for (std::size_t d = 0; d < length; ++d) {
        const double x = numbers[(columns ? n : n * length) + d * step];
        sum += x * x;
      }
      if (!(sum <= largest)) {
        largest = sum;
      }
      if (!std::isfinite(sum)) {
        return sum;
      }
    }
    numbers += extents[2] * extents[3];
  }
  return std::sqrt(largest);
}

// What the steps do to the scores: a factor, then numbers that are added.
class Masking {
 public:
  Masking(const Extents4& scores, std::size_t rank)
      : scores_(scores), rank_(rank) {}

  // False if the nodes must run one by one.
  bool add(const FusionStep& step, const ValueOf& value_of) {
    using Kind = FusionStep::Kind;
    const Array& operand = value_of(step.operand);
    switch (step.kind) {
      case Kind::multiply:
      case Kind::divide: {
        const auto factor = number(operand);
        // A factor after a mask would scale the mask.
        if (!factor || given_) {
          return false;
        }
        scale_ =
            step.kind == Kind::multiply ? scale_ * *factor : scale_ / *factor;
        largest_scale_ = std::max(largest_scale_, scale_);
        return scale_ >= 1 / kLargestProduct;
      }
      case Kind::add:
        return operand.dtype == DType::float32 &&
               combine(operand, [this](double& sum, double mask) {
                 allowed_ = allowed_ && mask <= kLargestMask;
                 sum += mask;
               });
      case Kind::fill_where_true:
      case Kind::fill_where_false: {
        const auto fill = number(value_of(step.fill));
        // NaN does not hide a key.
        if (!fill || !(*fill <= kHidingFill) ||
            operand.dtype != DType::boolean) {
          return false;
        }
        finite_fill_ = finite_fill_ || std::isfinite(*fill);
        const double hides = step.kind == Kind::fill_where_true ? 1 : 0;
        return combine(operand, [hides](double& sum, double condition) {
          sum = condition == hides ? kMaskedBias : sum;
        });
      }
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

  double scale() const { return scale_; }
  // The largest behind any step: the nodes must not overflow there.
  double largest_scale() const { return largest_scale_; }
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
  std::optional<double> number(const Array& array) const {
    return array.dtype == DType::float32 && array.shape.size() <= rank_ &&
                   element_count(array.shape) == 1
               ? std::optional(doubles_of(array).front())
               : std::nullopt;
  }

  // Combines every number with the element of a mask that is broadcast to it.
  template <class Combine>
  bool combine(const Array& mask, Combine one) {
    if (mask.shape.size() > rank_) {
      return false;
    }
    std::vector<std::size_t> aligned(rank_ - mask.shape.size(), 1);
    aligned.insert(aligned.end(), mask.shape.begin(), mask.shape.end());
    const Extents4 extents = four_axes(aligned);
    Extents4 both = extents_;
    for (std::size_t axis = 0; axis < 4; ++axis) {
      if (extents[axis] != 1 && extents[axis] != scores_[axis]) {
        return false;
      }
      both[axis] = std::max(both[axis], extents[axis]);
    }
    if (!widen(both)) {
      return false;
    }
    const std::vector<double> elements = doubles_of(mask);
    const auto strides = broadcast_to_extents(extents);
    std::size_t n = 0;
    for (Odometer at(extents_); !at.done(); at.next(), ++n) {
      one(numbers_[n], elements[at.offset(strides)]);
    }
    return true;
  }

  static Extents4 broadcast_to_extents(const Extents4& extents) {
    Extents4 strides{};
    std::size_t stride = 1;
    for (std::size_t axis = 4; axis-- > 0;) {
      strides[axis] = extents[axis] == 1 ? 0 : stride;
      stride *= extents[axis];
    }
    return strides;
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
    const auto strides = broadcast_to_extents(extents_);
    std::size_t n = 0;
    for (Odometer at(extents); given_ && !at.done(); at.next(), ++n) {
      wide[n] = numbers_[at.offset(strides)];
    }
    numbers_ = std::move(wide);
    extents_ = extents;
    given_ = true;
    return true;
  }

  Extents4 scores_;
  std::size_t rank_;
  double scale_ = 1;
  double largest_scale_ = 1;
  bool given_ = false;
  bool finite_fill_ = false;
  bool allowed_ = true;
  Extents4 extents_{1, 1, 1, 1};
  std::vector<double> numbers_;
};

// Q (B, H, Lq, D), K^T (B, H, D, Lkv) and V (B, H, Lkv, Dv) of one rank.
std::optional<AttentionSizes> fusion_sizes(const Array& query, const Array& key,
                                           const Array& value) {
  const std::size_t rank = query.shape.size();
  for (const Array* each : {&query, &key, &value}) {
    if (each->dtype != DType::float32 || each->shape.size() != rank ||
        rank < 2 || rank > 4 || each->data.empty()) {
      return std::nullopt;
    }
  }
  const Extents4 q = four_axes(query.shape);
  const Extents4 k = four_axes(key.shape);
  const Extents4 v = four_axes(value.shape);
  if (k != Extents4{q[0], q[1], q[3], k[3]} ||
      v != Extents4{q[0], q[1], k[3], v[3]}) {
    return std::nullopt;
  }
  return AttentionSizes{.B = q[0],
                        .Hq = q[1],
                        .Hkv = q[1],
                        .Lq = q[2],
                        .new_keys = k[3],
                        .D = q[3],
                        .Dv = v[3]};
}

// One 0 with no more axes than the weights.
bool is_zero(const Array& array, std::int64_t rank) {
  return array.dtype == DType::float32 &&
         static_cast<std::int64_t>(array.shape.size()) <= rank &&
         element_count(array.shape) == 1 && doubles_of(array).front() == 0;
}

}  // namespace

Result<std::unique_ptr<FusionTensors>> fusion_tensors(const OnnxFusion& fusion,
                                                      const ValueOf& value_of) {
  const Array& query = value_of(fusion.query);
  const Array& key = value_of(fusion.transposed_key);
  const Array& value = value_of(fusion.value);
  const auto sizes = fusion_sizes(query, key, value);
  const auto rank = static_cast<std::int64_t>(query.shape.size());
  if (!sizes ||
      (fusion.softmax_axis != -1 && fusion.softmax_axis != rank - 1)) {
    return std::unique_ptr<FusionTensors>();
  }
  if (!fusion.nan_fill.empty() && !is_zero(value_of(fusion.nan_fill), rank)) {
    return std::unique_ptr<FusionTensors>();
  }
  Masking masking({sizes->B, sizes->Hq, sizes->Lq, sizes->Lkv()},
                  query.shape.size());
  for (const FusionStep& step : fusion.steps) {
    if (!masking.add(step, value_of)) {
      return std::unique_ptr<FusionTensors>();
    }
  }
  const double product =
      largest_norm(query, four_axes(query.shape), /*columns=*/false) *
      largest_norm(key, four_axes(key.shape), /*columns=*/true);
  const double score = product * masking.scale();
  const bool bounded = product * masking.largest_scale() <= kLargestProduct &&
                       (!masking.finite_fill() || score <= kLargestScore) &&
                       largest_norm(value, four_axes(value.shape),
                                    /*columns=*/false) <= kLargestProduct;
  if (!bounded || !masking.allowed()) {
    return std::unique_ptr<FusionTensors>();
  }
  auto tensors = std::make_unique<FusionTensors>();
  const std::size_t D = sizes->D;
  const std::size_t L = sizes->Lkv();
  const std::size_t head = D * L;
  auto rows = gathered(key, {sizes->B, sizes->Hkv, L, D},
                       std::array{sizes->Hkv * head, head, std::size_t{1}, L});
  HEADWISE_TRY(rows);
  tensors->key = *std::move(rows);
  const std::vector<std::size_t> value_shape{sizes->B, sizes->Hkv, L,
                                             sizes->Dv};
  auto values = gathered(value, value_shape, strides_of(value_shape));
  HEADWISE_TRY(values);
  tensors->value = *std::move(values);
  tensors->output_shape = query.shape;
  tensors->output_shape.back() = sizes->Dv;
  ReadyAttention& ready = tensors->ready;
  ready.call.sizes = *sizes;
  ready.call.scale = masking.scale();
  ready.call.query_starts.assign(sizes->B, 0);
  ready.call.empty_rows =
      fusion.nan_fill.empty() ? EmptyRow::nan : EmptyRow::zero;
  ready.mask = masking.mask();
  ready.query = &query;
  ready.key = &tensors->key;
  ready.value = &tensors->value;
  return tensors;
}

}  // namespace headwise::inline HEADWISE_ABI
