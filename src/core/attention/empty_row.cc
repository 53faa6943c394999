#include "attention/empty_row.h"

#include <algorithm>
#include <cmath>

#include "attention/number_rows.h"
#include "kernels/attention_tile.h"

namespace headwise::inline HEADWISE_ABI {

float uniform_share(const AttentionSpec& spec, const RowIndex& row,
                    std::size_t j) {
  if (!spec.dropout.active()) {
    return 1;
  }
  return spec.dropout.keeps(row.b, row.h, row.i, j)
             ? static_cast<float>(spec.dropout.factor())
             : 0;
}

namespace {

// The mean of all values: a chain for each block of keys, added in order.
template <class T>
float mean_value(const AttentionSpec& spec, const RowIndex& row,
                 TensorView<const T, 4> value, std::size_t c) {
  const SequencePlace place = spec.shape.sequence(row.b);
  const std::size_t Lkv = place.Lkv;
  const std::size_t g = spec.shape.kv_head(row.h);
  float sum = 0;
  for (std::size_t first = 0; first < Lkv; first += kernels::kKeyBlock) {
    const std::size_t end = std::min(first + kernels::kKeyBlock, Lkv);
    float block = 0;
    for (std::size_t j = first; j < end; ++j) {
      const T v = value(place.batch, place.first_key + j, g, c);
      block = std::fma(uniform_share(spec, row, j), widened(v), block);
    }
    sum += block;
  }
  const float mean = sum / static_cast<float>(Lkv);
  return std::isnan(mean) ? kNaN : mean;
}

}  // namespace

float empty_output(const AttentionSpec& spec, const RowIndex& row,
                   const TensorArg& value, std::size_t c) {
  if (spec.empty_rows == EmptyRow::nan) {
    return kNaN;
  }
  if (spec.empty_rows == EmptyRow::zero ||
      spec.shape.sequence(row.b).Lkv == 0) {
    return 0;
  }
  return visit_numbers<const void>(value, [&](const auto& values) {
    return mean_value(spec, row, values, c);
  });
}

float empty_added_weight(const AttentionSpec& spec) {
  return spec.empty_rows == EmptyRow::nan ? kNaN : 0;
}

float empty_weight(const AttentionSpec& spec, const RowIndex& row,
                   std::size_t j, bool dropped) {
  switch (spec.empty_rows) {
    case EmptyRow::zero:
      return 0;
    case EmptyRow::nan:
      return kNaN;
    case EmptyRow::uniform:
      break;
  }
  return (dropped ? uniform_share(spec, row, j) : 1) /
         static_cast<float>(spec.shape.sequence(row.b).Lkv);
}

}  // namespace headwise::inline HEADWISE_ABI
