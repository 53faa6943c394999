#include "inspect/page/view_gradient.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "headwise/base/half.h"
#include "inspect/page/head_numbers.h"
#include "inspect/page/view_block.h"
#include "inspect/page/view_head.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

double largest_gradient(TensorView<const float, 2> rows) {
  float largest = 0;
  for (std::size_t i = 0; i < rows.extent(0); ++i) {
    for (std::size_t d = 0; d < rows.extent(1); ++d) {
      largest = std::max(largest, std::abs(rows(i, d)));
    }
  }
  return static_cast<double>(largest);
}

std::string encode_divided(TensorView<const float, 2> rows, double largest) {
  return encoded_block(
      each_of(rows,
              [&](float x) {
                const double part =
                    largest == 0 ? 0 : static_cast<double>(x) / largest;
                return narrowed_to_float16(static_cast<float>(part)).bits;
              }),
      Repeats::no);
}

}  // namespace

EncodedGradient encode_gradient(const HeadGradient& head) {
  const double query = largest_gradient(head.d_context);
  const double key = largest_gradient(head.value);
  EncodedGradient encoded{.scale = query * key,
                          .total = head.total,
                          .query = encode_divided(head.d_context, query),
                          .key = encode_divided(head.value, key),
                          .columns = encode_row(head.columns)};
  if (head.map.data() != nullptr) {
    encoded.small = encode_rows_of(head.map);
  }
  return encoded;
}

Status check_gradient(const ViewedGradient& gradient,
                      const AttentionShape& shape, const Extents<2>& pairs) {
  const std::size_t Dv = gradient.d_context.extent(3);
  HEADWISE_TRY(check_shape(
      kViewPage, "d_context", gradient.d_context.extents(), "(B, Lq, Hq, Dv)",
      {{shape.batches(), shape.query_rows(), shape.Hq, Dv}}));
  HEADWISE_TRY(check_shape(
      kViewPage, "value", gradient.value.extents(), "(B, Lkv, Hq, Dv)",
      {{shape.batches(), shape.key_rows(), shape.Hq, Dv}}));
  HEADWISE_TRY(check_shape(kViewPage, "columns", gradient.columns.extents(),
                           "(B, Hq, Lkv)",
                           {{shape.batches(), shape.Hq, shape.key_rows()}}));
  HEADWISE_TRY(check_shape(kViewPage, "totals", gradient.totals.extents(),
                           "(B, Hq)", {{shape.batches(), shape.Hq}}));
  if (!pooled_by_page(pairs[0], pairs[1])) {
    HEADWISE_TRY(check_shape(
        kViewPage, "map", gradient.map.extents(), "(B, Hq, rows, columns)",
        {{shape.B, shape.Hq, map_size(pairs[0]), map_size(pairs[1])}}));
  }
  for (std::size_t b = 0; b < shape.batches(); ++b) {
    for (std::size_t h = 0; h < shape.Hq; ++h) {
      HEADWISE_TRY(check_finite("totals", {b, h}, gradient.totals(b, h)));
      for (std::size_t j = 0; j < shape.key_rows(); ++j) {
        HEADWISE_TRY(
            check_finite("columns", {b, h, j},
                         static_cast<double>(gradient.columns(b, h, j))));
      }
    }
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
