#include "headwise/heads/norm_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/logarithm.h"
#include "base/out_of_memory.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOperation = "norm_statistics";
constexpr float kLeastNorm = 0x1p-60f;

Status check_options(TensorView<const float, 4> query,
                     TensorView<const float, 4> key,
                     TensorView<const float, 3> norms,
                     const AttentionOptions& options,
                     const OperationOptions& operation_options) {
  if (options.bias.given()) {
    return value_error(kOperation, "bias", "given", "none");
  }
  const AddedKeys& added = operation_options.added_keys;
  const std::string_view without_norms =
      options.sinks.data() != nullptr                     ? "sinks"
      : added.bias_k.data() != nullptr || added.zero_attn ? "added_keys"
      : options.offsets.ragged()                          ? "offsets"
                                                          : "";
  if (!without_norms.empty()) {
    return value_error(kOperation, without_norms, "given", "none",
                       ErrorCode::unsupported);
  }
  const auto [B, Lkv, Hkv, D] = key.extents();
  const std::size_t H = query.extent(2);
  HEADWISE_TRY(check_shape(kOperation, "key", key.extents(), "(B, Lkv, H, D)",
                           Extents<4>{B, Lkv, H, D}));
  return check_shape(kOperation, "norms", norms.extents(), "(B, H, Lkv)",
                     Extents<3>{B, H, Lkv});
}

// ln norms, and 1 / norms as values: each row then gives 1 / sums, since
// sum_j (w norms / sums) (1 / norms) = sum_j w / sums.
struct Weighing {
  Tensor<float, 3> bias;   // (B, H, Lkv)
  Tensor<float, 4> value;  // (B, Lkv, H, 1)
};

Result<Weighing> weigh_by(TensorView<const float, 3> norms) {
  const auto [B, H, Lkv] = norms.extents();
  auto bias = Tensor<float, 3>::create_unset({B, H, Lkv});
  auto value = Tensor<float, 4>::create_unset({B, Lkv, H, 1});
  HEADWISE_TRY(bias);
  HEADWISE_TRY(value);
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t h = 0; h < H; ++h) {
      for (std::size_t j = 0; j < Lkv; ++j) {
        const float norm = std::max(norms(b, h, j), kLeastNorm);  // keeps NaN
        (*bias)(b, h, j) =
            std::isfinite(norm)
                ? static_cast<float>(natural_log(static_cast<double>(norm)))
                : norm;
        (*value)(b, j, h, 0) = 1 / norm;
      }
    }
  }
  return Weighing{*std::move(bias), *std::move(value)};
}

}  // namespace

Result<NormStatistics> norm_statistics(
    TensorView<const float, 4> query, TensorView<const float, 4> key,
    TensorView<const float, 3> norms, const AttentionOptions& options,
    const OperationOptions& operation_options) {
  return catching_out_of_memory([&]() -> Result<NormStatistics> {
    HEADWISE_TRY(check_options(query, key, norms, options, operation_options));
    const auto weighing = weigh_by(norms);
    HEADWISE_TRY(weighing);
    const auto [B, Lq, H, D] = query.extents();
    auto sums = Tensor<float, 4>::create_unset({B, Lq, H, 1});
    HEADWISE_TRY(sums);
    AttentionOptions of_shares = options;
    of_shares.bias = dense<3>(weighing->bias, {Axis::B, Axis::H, Axis::Lkv});
    auto shares = attention_statistics(query, key, weighing->value,
                                       {.output = sums->view()}, of_shares,
                                       operation_options);
    HEADWISE_TRY(shares);
    for (float& sum : sums->elements()) {
      sum = sum == 0 ? 0 : 1 / sum;  // 0: no key
    }
    return NormStatistics{std::move(*sums).template with_extents<3>({B, Lq, H}),
                          *std::move(shares)};
  });
}

std::vector<double> mean_sums(const NormStatistics& statistics,
                              TensorView<const std::int64_t, 1> query_lengths) {
  const auto [B, Lq, H] = statistics.sums.extents();
  std::vector<double> means(H);
  for (std::size_t h = 0; h < H; ++h) {
    double sum = 0;
    std::size_t rows = 0;
    for (std::size_t b = 0; b < B; ++b) {
      const std::size_t queries =
          query_lengths.data() == nullptr
              ? Lq
              : static_cast<std::size_t>(query_lengths(b));
      for (std::size_t i = 0; i < queries; ++i) {
        const float of_row = statistics.sums(b, i, h);
        sum += static_cast<double>(of_row);
        rows += of_row != 0 ? 1 : 0;
      }
    }
    means[h] = rows == 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sum / static_cast<double>(rows);
  }
  return means;
}

}  // namespace headwise::inline HEADWISE_ABI
