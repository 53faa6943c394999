// The axes of a dense tensor over the scores, a mask or a bias: each one by its
// name, so that a rank-3 tensor is never guessed. An axis that is not named is
// broadcast.
//
//   {Axis::B, Axis::one, Axis::Lkv}   (B, 1, Lkv), for every head and query
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/steps/shape.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// The name of one axis of a dense tensor over the scores. `one` is an axis of
// extent 1.
enum class Axis { B, H, Lq, Lkv, one };

struct NamedAxes {
  std::vector<std::size_t> extents;
  std::vector<std::ptrdiff_t> strides;
  std::vector<Axis> axes;
  // By B, H, Lq, Lkv; 0 = broadcast. check() fills it in.
  std::array<std::ptrdiff_t, 4> stride_of{};

  // Errors: shape_mismatch; invalid_argument for an axis that is named twice or
  // not at all. The message begins with `operation` and names `argument`.
  Status check(const AttentionShape& shape, std::string_view operation,
               std::string_view argument);
  // Where the element of a query-key pair is.
  std::ptrdiff_t offset(std::size_t b, std::size_t h, std::size_t i,
                        std::size_t j) const {
    return static_cast<std::ptrdiff_t>(b) * stride_of[0] +
           static_cast<std::ptrdiff_t>(h) * stride_of[1] +
           static_cast<std::ptrdiff_t>(i) * stride_of[2] +
           static_cast<std::ptrdiff_t>(j) * stride_of[3];
  }
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
