// The axes of a dense mask or bias, a tensor over the scores. Each axis is
// named, so the axes of a rank-3 tensor are never guessed. An axis that is not
// named is broadcast.
//
//   {Axis::B, Axis::one, Axis::Lkv}   (B, 1, Lkv), for every head and query
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/steps/shape.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The name of one axis of a dense tensor over the scores. `one` is an axis of
// extent 1.
enum class Axis : std::uint8_t { B, H, Lq, Lkv, one };

// The most axes that a tensor over the scores may have.
inline constexpr std::size_t kMostAxes = 8;

// Allocates nothing. With more than kMostAxes, check() returns an error.
class NamedAxes {
 public:
  NamedAxes() = default;
  NamedAxes(std::span<const std::size_t> extents,
            std::span<const std::ptrdiff_t> strides,
            std::span<const Axis> axes);
  NamedAxes(std::initializer_list<std::size_t> extents,
            std::initializer_list<std::ptrdiff_t> strides,
            std::initializer_list<Axis> axes)
      : NamedAxes(std::span(extents), std::span(strides), std::span(axes)) {}

  // Errors: shape_mismatch; invalid_argument for an axis that is named twice or
  // not at all, unsupported for more than kMostAxes. The message begins with
  // `operation` and names `argument`.
  HEADWISE_HIDDEN Status check(const AttentionShape& shape,
                               std::string_view operation,
                               std::string_view argument) const;

  // At most kMostAxes of each.
  std::span<const std::size_t> extents() const {
    return std::span(extents_).first(held(extent_count_));
  }
  std::span<const std::ptrdiff_t> strides() const {
    return std::span(strides_).first(held(stride_count_));
  }
  std::span<const Axis> axes() const {
    return std::span(axes_).first(held(axis_count_));
  }
  // Along B, H, Lq, Lkv; 0 = broadcast.
  const std::array<std::ptrdiff_t, 4>& score_strides() const {
    return score_strides_;
  }
  // Which of B, H, Lq and Lkv are named.
  std::array<bool, 4> named() const;
  // The offset of the element of a query-key pair.
  std::ptrdiff_t offset(std::size_t b, std::size_t h, std::size_t i,
                        std::size_t j) const {
    return static_cast<std::ptrdiff_t>(b) * score_strides_[0] +
           static_cast<std::ptrdiff_t>(h) * score_strides_[1] +
           static_cast<std::ptrdiff_t>(i) * score_strides_[2] +
           static_cast<std::ptrdiff_t>(j) * score_strides_[3];
  }

 private:
  static std::size_t held(std::size_t count) {
    return count < kMostAxes ? count : kMostAxes;
  }

  std::array<std::size_t, kMostAxes> extents_{};
  std::array<std::ptrdiff_t, kMostAxes> strides_{};
  std::array<Axis, kMostAxes> axes_{};
  // As many as were given, including those that do not fit.
  std::size_t extent_count_ = 0;
  std::size_t stride_count_ = 0;
  std::size_t axis_count_ = 0;
  std::array<std::ptrdiff_t, 4> score_strides_{};
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
