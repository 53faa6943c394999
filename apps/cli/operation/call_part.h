// A part of a call that runs by itself, as a chunk through a cache does: some
// queries, and the keys that their sequences have by then. Of what the options
// give for the whole call it makes what they give for the part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "headwise/base/tensor_view.h"
#include "headwise/steps/named_axes.h"

namespace headwise::cli {

class CallPart {
 public:
  // The whole call: everything stays as it is.
  CallPart() = default;
  // The queries [first, first + queries) of each sequence, of the longest one
  // if they differ, and the first keys[b] keys of sequence b.
  CallPart(std::size_t first, std::size_t queries,
           std::vector<std::int64_t> keys);

  // Of (B, Lq), (B, Lkv) and (B, H, Lq, Lkv). Views without data stay.
  template <class T>
  TensorView<const T, 2> of_queries(const TensorView<const T, 2>& whole) const {
    return rows_ ? TensorView<const T, 2>(
                       whole.data() + offset(whole.stride(1)),
                       {whole.extent(0), rows_->queries}, whole.strides())
                 : whole;
  }
  template <class T>
  TensorView<const T, 2> of_keys(const TensorView<const T, 2>& whole) const {
    return rows_ ? TensorView<const T, 2>(whole.data(),
                                          {whole.extent(0), rows_->longest},
                                          whole.strides())
                 : whole;
  }
  template <class T>
  TensorView<const T, 4> of_pairs(const TensorView<const T, 4>& whole) const {
    return rows_
               ? TensorView<const T, 4>(whole.data() + offset(whole.stride(2)),
                                        {whole.extent(0), whole.extent(1),
                                         rows_->queries, rows_->longest},
                                        whole.strides())
               : whole;
  }

  // Of a tensor over the scores: the data moves, and the axes shrink.
  NamedAxes of_scores(const NamedAxes& whole) const;
  template <class T>
  const T* data_of_scores(const T* whole, const NamedAxes& axes) const {
    return rows_ ? whole + offset(axes.score_strides()[2]) : whole;
  }

  // Numbers of keys, (B) and (B, Lq): no more than there are. Valid as long as
  // this object.
  TensorView<const std::int64_t, 1> counts(
      const TensorView<const std::int64_t, 1>& whole);
  TensorView<const std::int64_t, 2> counts(
      const TensorView<const std::int64_t, 2>& whole);

 private:
  struct Rows {
    std::size_t first;
    std::size_t queries;
    std::vector<std::int64_t> keys;
    std::size_t longest;  // of keys
  };

  std::ptrdiff_t offset(std::ptrdiff_t stride) const {
    return static_cast<std::ptrdiff_t>(rows_->first) * stride;
  }

  std::optional<Rows> rows_;
  std::deque<std::vector<std::int64_t>> counts_;
};

}  // namespace headwise::cli
