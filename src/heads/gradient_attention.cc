#include "headwise/heads/gradient_attention.h"

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "heads/pair_sums.h"
#include "heads/weight_rows.h"
#include "headwise/attention/backward.h"
#include "headwise/attention/forward.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOperation = "gradient_attention";

Status check_call(const AttentionInputsOf<float>& heads,
                  const Extents<4>& d_context, const AttentionOptions& options,
                  const OperationOptions& operation_options) {
  const AddedKeys& added = operation_options.added_keys;
  const std::string_view given =
      options.offsets.ragged()                            ? "offsets"
      : added.bias_k.data() != nullptr || added.zero_attn ? "added_keys"
                                                          : "";
  if (!given.empty()) {
    return value_error(kOperation, given, "given", "none",
                       ErrorCode::unsupported);
  }
  const auto [B, Lq, H, D] = heads.query.extents();
  const std::size_t Lkv = heads.key.extent(1);
  const std::size_t Dv = heads.value.extent(3);
  HEADWISE_TRY(check_shape(kOperation, "key", heads.key.extents(),
                           "(B, Lkv, H, D)", Extents<4>{B, Lkv, H, D}));
  HEADWISE_TRY(check_shape(kOperation, "value", heads.value.extents(),
                           "(B, Lkv, H, Dv)", Extents<4>{B, Lkv, H, Dv}));
  return check_shape(kOperation, "d_context", d_context, "(B, Lq, H, Dv)",
                     Extents<4>{B, Lq, H, Dv});
}

double dot(TensorView<const float, 4> x, TensorView<const float, 4> y,
           std::size_t b, std::size_t i, std::size_t j, std::size_t h) {
  double sum = 0;
  for (std::size_t d = 0; d < x.extent(3); ++d) {
    sum +=
        static_cast<double>(x(b, i, h, d)) * static_cast<double>(y(b, j, h, d));
  }
  return sum;
}

// The gradient by the values. By select where it is 0: a masked value may be
// NaN.
Result<Tensor<float, 4>> d_values(const AttentionInputsOf<float>& heads,
                                  TensorView<const float, 4> d_context,
                                  const AttentionOptions& options,
                                  const OperationOptions& operation_options) {
  const auto [B, Lq, H, Dv] = d_context.extents();
  auto context = Tensor<float, 4>::create_unset({B, Lq, H, Dv});
  auto rows = Tensor<float, 4>::create_unset({B, H, Lq, 2});
  auto d_value = Tensor<float, 4>::create_unset(heads.value.extents());
  HEADWISE_TRY(context);
  HEADWISE_TRY(rows);
  HEADWISE_TRY(d_value);
  HEADWISE_TRY(attention(heads.query, heads.key, heads.value,
                         {.output = *context, .softmax_rows = *rows}, options,
                         operation_options));
  HEADWISE_TRY(attention_backward({.query = heads.query,
                                   .key = heads.key,
                                   .value = heads.value,
                                   .output = *context,
                                   .softmax_rows = *rows,
                                   .d_output = d_context},
                                  {.value = *d_value}, options,
                                  operation_options));
  return d_value;
}

}  // namespace

Result<GradientAttention> gradient_attention(
    const AttentionInputsOf<float>& heads, TensorView<const float, 4> d_context,
    const AttentionOptions& options,
    const OperationOptions& operation_options) {
  return catching_out_of_memory([&]() -> Result<GradientAttention> {
    HEADWISE_TRY(
        check_call(heads, d_context.extents(), options, operation_options));
    const auto d_value = d_values(heads, d_context, options, operation_options);
    HEADWISE_TRY(d_value);
    const auto [B, Lkv, H, Dv] = heads.value.extents();
    auto columns = Tensor<float, 3>::create({B, H, Lkv});
    auto totals = Tensor<double, 2>::create({B, H});
    HEADWISE_TRY(columns);
    HEADWISE_TRY(totals);
    for (std::size_t b = 0; b < B; ++b) {
      for (std::size_t h = 0; h < H; ++h) {
        for (std::size_t j = 0; j < Lkv; ++j) {
          const bool reached = dot(*d_value, *d_value, b, j, j, h) != 0;
          const double sum =
              reached ? dot(heads.value, *d_value, b, j, j, h) : 0;
          (*columns)(b, h, j) = static_cast<float>(sum);
          (*totals)(b, h) += sum;
        }
      }
    }
    return GradientAttention{*std::move(columns), *std::move(totals)};
  });
}

Result<Tensor<float, 4>> gradient_attention_map(
    const AttentionInputsOf<float>& heads, TensorView<const float, 4> d_context,
    const AttentionOptions& options,
    const OperationOptions& operation_options) {
  return catching_out_of_memory([&]() -> Result<Tensor<float, 4>> {
    HEADWISE_TRY(
        check_call(heads, d_context.extents(), options, operation_options));
    const auto [B, Lq, H, Dv] = d_context.extents();
    const std::size_t Lkv = heads.key.extent(1);
    const std::size_t cells = map_size(Lq) * map_size(Lkv);
    std::vector<PairSums> sums(B * H, PairSums(Lq, Lkv));
    const Executor& executor =
        options.executor ? *options.executor : Executor::default_executor();
    HEADWISE_TRY(for_weight_rows(
        heads.query, heads.key, options, operation_options,
        [&, num_heads = H](std::size_t first,
                           TensorView<const float, 4> weights) {
          executor.parallel_for(
              sums.size(), 1, [&](std::size_t begin, std::size_t end) {
                std::vector<double> row(weights.extent(3));
                for (std::size_t n = begin; n < end; ++n) {
                  const std::size_t b = n / num_heads;
                  const std::size_t h = n % num_heads;
                  for (std::size_t i = 0; i < weights.extent(2); ++i) {
                    for (std::size_t j = 0; j < row.size(); ++j) {
                      const auto weight =
                          static_cast<double>(weights(b, h, i, j));
                      row[j] = weight == 0
                                   ? 0
                                   : weight * dot(d_context, heads.value, b,
                                                  first + i, j, h);
                    }
                    sums[n].add(first + i, row);
                  }
                }
              });
          return ok();
        }));
    auto map = Tensor<float, 4>::create({B, H, map_size(Lq), map_size(Lkv)});
    HEADWISE_TRY(map);
    for (std::size_t n = 0; n < sums.size(); ++n) {
      sums[n].map_means(map->data() + n * cells);
    }
    return map;
  });
}

}  // namespace headwise::inline HEADWISE_ABI
