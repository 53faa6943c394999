// Gradient times attention of one head as a page holds it. The page computes
// the product of each pair from d_context and value.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/inspect/view_page.h"

namespace headwise::inline HEADWISE_ABI {

struct HeadGradient {
  TensorView<const float, 2> d_context;  // (Lq, Dv)
  TensorView<const float, 2> value;      // (Lkv, Dv)
  TensorView<const float, 1> columns;    // (Lkv)
  double total = 0;
  TensorView<const float, 2> map{};  // without pooled_by_page()
};

struct EncodedGradient {
  // d_context and value are divided by their largest elements, so that small
  // ones keep their digits in binary16; the product of these is the scale.
  double scale = 0;
  double total = 0;
  std::string query;
  std::string key;
  std::string columns;
  std::optional<std::string> small{};

  std::size_t bytes() const {
    return query.size() + key.size() + columns.size() +
           (small ? small->size() : 0);
  }
};

// Throws std::bad_alloc.
EncodedGradient encode_gradient(const HeadGradient& head);

// The shapes, and that sums are finite. `pairs` are those of the sequence.
// Errors: those of ViewPage, by the names of ViewedGradient's fields.
Status check_gradient(const ViewedGradient& gradient,
                      const AttentionShape& shape, const Extents<2>& pairs);

}  // namespace headwise::inline HEADWISE_ABI
