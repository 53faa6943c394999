// Rows of queries with what the backward pass needs of them, in one piece of
// memory, as they travel.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "distribute/copy_rows.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/shape.h"
#include "steps/call_part.h"

namespace headwise::inline HEADWISE_ABI {

// (1, heads, rows, 2) and (1, rows, heads, ...).
template <class T>
struct QueryViews {
  using Sum = std::conditional_t<std::is_const_v<T>, const float, float>;
  TensorView<Sum, 4> softmax_rows;
  TensorView<T, 4> query;
  TensorView<T, 4> output;
  TensorView<T, 4> d_output;

  QueryViews part(const internal::PartRange& rows) const {
    return along(2, 1, rows);
  }
  QueryViews heads(const internal::PartRange& range) const {
    return along(1, 2, range);
  }

 private:
  QueryViews along(std::size_t axis_of_rows, std::size_t axis,
                   const internal::PartRange& range) const {
    return {internal::part_along(axis_of_rows, softmax_rows, range),
            internal::part_along(axis, query, range),
            internal::part_along(axis, output, range),
            internal::part_along(axis, d_output, range)};
  }
};

template <class T>
QueryViews<const T> read_only(const QueryViews<T>& views) {
  return {views.softmax_rows, views.query, views.output, views.d_output};
}

template <class T>
void copy_queries(const QueryViews<const T>& from, const QueryViews<T>& to) {
  copy_rows<float>(from.softmax_rows, to.softmax_rows);
  copy_rows<T>(from.query, to.query);
  copy_rows<T>(from.output, to.output);
  copy_rows<T>(from.d_output, to.d_output);
}

template <class T>
class QueryRows : public RankRows {
 public:
  // In the memory of `old` if that is large enough.
  static Result<QueryRows> create(const AttentionShape& shape,
                                  std::size_t heads, std::size_t most_rows,
                                  Tensor<std::byte, 2> old = {}) {
    QueryRows rows;
    HEADWISE_TRY(rows.make(
        shape, heads, {most_rows, bytes_of_row(shape, heads)}, std::move(old)));
    return rows;
  }
  static std::size_t bytes_of_row(const AttentionShape& shape,
                                  std::size_t heads) {
    return heads * (2 * sizeof(float) + (shape.D + 2 * shape.Dv) * sizeof(T));
  }

  QueryViews<T> views(std::size_t rows) {
    // The numbers of 4 bytes first, so that all are aligned.
    auto* sums = reinterpret_cast<float*>(memory_.data());
    auto* elements = reinterpret_cast<T*>(sums + rows * heads_ * 2);
    T* output = elements + rows * heads_ * D_;
    return {{sums, {1, heads_, rows, 2}},
            {elements, {1, rows, heads_, D_}},
            {output, {1, rows, heads_, Dv_}},
            {output + rows * heads_ * Dv_, {1, rows, heads_, Dv_}}};
  }
};

}  // namespace headwise::inline HEADWISE_ABI
