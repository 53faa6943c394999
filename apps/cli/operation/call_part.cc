#include "call_part.h"

#include <algorithm>
#include <utility>

namespace headwise::cli {

CallPart::CallPart(std::size_t first, std::size_t queries,
                   std::vector<std::int64_t> keys) {
  const std::int64_t longest = keys.empty() ? 0 : std::ranges::max(keys);
  rows_ =
      Rows{first, queries, std::move(keys), static_cast<std::size_t>(longest)};
}

NamedAxes CallPart::of_scores(const NamedAxes& whole) const {
  if (!rows_) {
    return whole;
  }
  std::vector<std::size_t> extents(whole.extents().begin(),
                                   whole.extents().end());
  for (std::size_t n = 0; n < extents.size(); ++n) {
    extents[n] = whole.axes()[n] == Axis::Lq    ? rows_->queries
                 : whole.axes()[n] == Axis::Lkv ? rows_->longest
                                                : extents[n];
  }
  return {extents, whole.strides(), whole.axes()};
}

TensorView<const std::int64_t, 1> CallPart::counts(
    const TensorView<const std::int64_t, 1>& whole) {
  if (!rows_) {
    return whole;
  }
  const std::size_t B = whole.extent(0);
  std::vector<std::int64_t>& part = counts_.emplace_back(B);
  for (std::size_t b = 0; b < B; ++b) {
    part[b] = std::min(whole(b), rows_->keys[b]);
  }
  return {part.data(), {B}};
}

TensorView<const std::int64_t, 2> CallPart::counts(
    const TensorView<const std::int64_t, 2>& whole) {
  if (!rows_) {
    return whole;
  }
  const auto queries = of_queries(whole);
  const auto [B, Lq] = queries.extents();
  std::vector<std::int64_t>& part = counts_.emplace_back(B * Lq);
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t i = 0; i < Lq; ++i) {
      part[b * Lq + i] = std::min(queries(b, i), rows_->keys[b]);
    }
  }
  return {part.data(), {B, Lq}};
}

}  // namespace headwise::cli
