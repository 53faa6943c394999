#include "inspect/page/view_head.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "base/check.h"
#include "headwise/base/half.h"
#include "inspect/page/head_numbers.h"
#include "inspect/page/view_block.h"
#include "inspect/page/view_error.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// The byte for an attention weight, and the attention weight for a byte.
std::uint8_t code_of(float weight) {
  return static_cast<std::uint8_t>(
      std::lround(255 * std::sqrt(std::clamp(weight, 0.0F, 1.0F))));
}
double decoded(std::uint8_t code) {
  const double root = code / 255.0;
  return root * root;
}

// A weight above 1 has no code; the page shows it as it is if it is one of its
// query's top keys.
bool shown_exactly(const ViewedHead& head, std::size_t i, float weight) {
  return head.weights_only && weight > 1 &&
         weight > head.top_weights(i, kPageTopKeys - 1);
}

double coding_error(const ViewedHead& head,
                    const std::vector<std::uint8_t>& codes) {
  const TensorView<const float, 2> weights = head.attn_weights;
  double error = 0;
  const std::size_t columns = weights.extent(1);
  for (std::size_t i = 0; i < weights.extent(0); ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      if (shown_exactly(head, i, weights(i, j))) {
        continue;
      }
      error = std::max(error, std::abs(decoded(codes[i * columns + j]) -
                                       static_cast<double>(weights(i, j))));
    }
  }
  return error;
}

// Next to a much larger sink the largest weight of a key may be 0.
bool has_key(TensorView<const float, 2> rows, std::size_t i) {
  return rows(i, index_of(Statistic::largest)) != 0 ||
         !std::isnan(rows(i, index_of(Statistic::entropy)));
}

std::array<Statistic, kStatistics> all_statistics() {
  std::array<Statistic, kStatistics> all{};
  for (std::size_t k = 0; k < kStatistics; ++k) {
    all[k] = static_cast<Statistic>(k);
  }
  return all;
}

// By statistic, then by query; NaN for a query with no key.
std::string encode_rows(const ViewedHead& head,
                        std::span<const Statistic> statistics) {
  std::vector<float> numbers;
  for (const Statistic statistic : statistics) {
    for (std::size_t i = 0; i < head.rows.extent(0); ++i) {
      numbers.push_back(has_key(head.rows, i)
                            ? head.rows(i, index_of(statistic))
                            : std::numeric_limits<float>::quiet_NaN());
    }
  }
  return encoded_block(numbers);
}

std::string encode_columns(const ViewedHead& head, std::size_t counted) {
  std::vector<float> means;
  for (std::size_t j = 0; j < head.columns.extent(0); ++j) {
    means.push_back(head.columns(j) /
                    static_cast<float>(std::max<std::size_t>(counted, 1)));
  }
  return encoded_block(means);
}

std::string encode_top(const ViewedHead& head) {
  std::vector<std::int32_t> keys;
  std::vector<float> weights;
  for (std::size_t i = 0; i < head.top_keys.extent(0); ++i) {
    for (std::size_t n = 0; n < kPageTopKeys; ++n) {
      keys.push_back(static_cast<std::int32_t>(head.top_keys(i, n)));
      weights.push_back(head.top_weights(i, n));
    }
  }
  BlockBytes bytes;
  bytes.add(std::span<const std::int32_t>(keys));
  bytes.add(std::span<const float>(weights));
  return bytes.encoded();
}

// The largest of each cell, then the means, unless each cell is one pair.
std::string encode_small(const ViewedHead& head) {
  BlockBytes bytes;
  bytes.add(std::span<const std::uint8_t>(each_of(head.map_largest, code_of)));
  if (std::max(head.rows.extent(0), head.columns.extent(0)) > kMostMapCells) {
    bytes.add(std::span<const std::uint8_t>(each_of(head.map_mean, code_of)));
  }
  return bytes.encoded();
}

// Of weight times norm, from what each key receives.
std::optional<double> mean_norm_of(const ViewedHead& head,
                                   std::size_t counted) {
  double sum = 0;
  for (std::size_t j = 0; j < head.key_norms.extent(0); ++j) {
    sum += static_cast<double>(head.columns(j)) *
           static_cast<double>(head.key_norms(j));
  }
  return counted == 0 ? std::nullopt
                      : std::optional(sum / static_cast<double>(counted));
}

// What the page cannot compute from the attention weights.
void encode_numbers(const ViewedHead& head, EncodedHead& to) {
  if (!head.all_numbers) {
    to.rows = encode_rows(head, kRowsBesideMap);
    return;
  }
  to.rows = encode_rows(head, all_statistics());
  to.columns = encode_columns(head, head.rows.extent(0) - to.pooled.empty_rows);
  to.top = encode_top(head);
}

// Sums of rows of attention weights that someone else computed.
UnevenRows uneven_rows_of(TensorView<const float, 2> weights, std::size_t first,
                          std::size_t count) {
  return uneven_rows({&weights(first, 0),
                      {1, 1, count, weights.extent(1)},
                      {0, 0, weights.stride(0), weights.stride(1)}});
}

// The sum of each uneven row, NaN for the others.
std::string encode_uneven_sums(TensorView<const float, 2> weights) {
  std::vector<float> sums;
  for (std::size_t i = 0; i < weights.extent(0); ++i) {
    const UnevenRows row = uneven_rows_of(weights, i, 1);
    sums.push_back(row.uneven != 0 ? static_cast<float>(row.sum)
                                   : std::numeric_limits<float>::quiet_NaN());
  }
  return encoded_block(sums);
}

// For a page that holds them.
void encode_map(const ViewedHead& head, EncodedHead& to) {
  const std::vector<std::uint8_t> codes = each_of(head.attn_weights, code_of);
  to.error = coding_error(head, codes);
  to.map = encoded_block(codes);
  if (head.weights_only) {
    to.uneven =
        uneven_rows_of(head.attn_weights, 0, head.attn_weights.extent(0));
    if (to.uneven->uneven != 0) {
      to.uneven_sums = encode_uneven_sums(head.attn_weights);
    }
  }
  if (!pooled_by_page(head.attn_weights.extent(0),
                      head.attn_weights.extent(1))) {
    to.small = encode_small(head);
  }
}

}  // namespace

std::size_t kv_head_number(const AttentionShape& shape, std::size_t h,
                           std::size_t number) {
  return shape.Hq == shape.Hkv ? number : shape.kv_head(h);
}

PooledRows pool_rows(const ViewedHead& head) {
  const TensorView<const float, 2> rows = head.rows;
  PooledRows pooled;
  std::array<double, kStatistics> sums{};
  for (std::size_t i = 0; i < rows.extent(0); ++i) {
    if (!has_key(rows, i)) {
      ++pooled.empty_rows;
      continue;
    }
    for (std::size_t k = 0; k < kStatistics; ++k) {
      sums[k] += static_cast<double>(rows(i, k));
    }
  }
  const std::size_t counted = rows.extent(0) - pooled.empty_rows;
  for (std::size_t k = 0; counted != 0 && k < kStatistics; ++k) {
    pooled.mean[k] = sums[k] / static_cast<double>(counted);
  }
  if (!head.separators) {
    pooled.mean[index_of(Statistic::separator)].reset();
  }
  if (!head.next) {
    pooled.mean[index_of(Statistic::next)].reset();
  }
  return pooled;
}

std::string encode_row(TensorView<const float, 1> row) {
  std::vector<float> numbers;
  for (std::size_t i = 0; i < row.extent(0); ++i) {
    numbers.push_back(row(i));
  }
  return encoded_block(numbers, Repeats::no);
}

std::string encode_rows_of(TensorView<const float, 2> rows) {
  return encoded_block(each_of(rows, [](float x) { return x; }));
}

std::string encode_halves(TensorView<const float, 2> rows) {
  return encoded_block(
      each_of(rows, [](float x) { return narrowed_to_float16(x).bits; }),
      Repeats::no);
}

EncodedHead encode_head(const ViewedHead& head) {
  EncodedHead encoded;
  encoded.pooled = pool_rows(head);
  encode_numbers(head, encoded);
  if (head.elements) {
    encoded.small = encode_small(head);
    encoded.query = encode_halves(head.query);
    const bool whole = head.rounded_weights.data() != nullptr;
    encoded.lse = encode_row(whole ? head.rounded_lse : head.lse);
    encoded.lse_error = whole ? lse_error(head) : 0;
    encoded.error = whole ? rounding_error(head) : tile_error(head);
  } else {
    encode_map(head, encoded);
  }
  if (head.key_norms.data() != nullptr) {
    encoded.norms = encode_row(head.key_norms);
    encoded.mean_norm =
        mean_norm_of(head, head.rows.extent(0) - encoded.pooled.empty_rows);
    if (head.norm_map.data() != nullptr) {
      encoded.norm_small = encode_rows_of(head.norm_map);
    }
  }
  if (head.gradient) {
    encoded.gradient = encode_gradient(*head.gradient);
  }
  encoded.integrated = head.integrated;
  encoded.integrated_by_layer = head.integrated_by_layer;
  return encoded;
}

Status check_elements(std::string_view name, TensorView<const float, 4> x,
                      const Extents<2>& first, float largest) {
  const auto [B, L, H, D] = x.extents();
  for (std::size_t row = 0; D != 0 && row < B * L * H; ++row) {
    const std::size_t b = row / (L * H);
    const std::size_t l = row / H % L;
    const std::size_t h = row % H;
    for (std::size_t d = 0; d < D; ++d) {
      const float value = x(b, l, h, d);
      if (std::abs(value) <= largest) {
        continue;
      }
      return value_error(
          kViewPage,
          std::string(name) + "[" + std::to_string(first[0] + b) + ", " +
              std::to_string(first[1] + l) + ", " + std::to_string(h) + ", " +
              std::to_string(d) + "]",
          number_text(static_cast<double>(value)),
          std::isfinite(value) ? message("at most {}, which binary16 can hold",
                                         number_text(largest))
                               : "a finite number",
          ErrorCode::bad_data);
    }
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
