#include "headwise/heads/gradient_attention.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "heads/one_sequence.h"
#include "heads/pair_sums.h"
#include "heads/weight_tiles.h"
#include "headwise/attention/backward.h"
#include "headwise/attention/forward.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kGradientAttention = "gradient_attention";

// Every query head has its own keys and values.
struct OwnHeads {
  AttentionInputsOf<float> heads;
  OperationOptions operation_options;
  // Copies of those that several query heads read; else empty.
  Tensor<float, 4> key{};
  Tensor<float, 4> value{};
};

// head g of each query head's group, (B, L, Hq, D).
Result<Tensor<float, 4>> repeated(TensorView<const float, 4> heads,
                                  const AttentionShape& shape) {
  const auto [B, L, Hkv, D] = heads.extents();
  HEADWISE_ASSIGN(auto all,
                  Tensor<float, 4>::create_unset({B, L, shape.Hq, D}));
  for (std::size_t h = 0; h < shape.Hq; ++h) {
    const std::size_t g = shape.kv_head(h);
    for (std::size_t b = 0; b < B; ++b) {
      for (std::size_t l = 0; l < L; ++l) {
        for (std::size_t d = 0; d < D; ++d) {
          all(b, l, h, d) = heads(b, l, g, d);
        }
      }
    }
  }
  return all;
}

// The shape of a call that was checked.
Result<AttentionShape> checked_shape(
    const AttentionInputsOf<float>& heads, const Extents<4>& d_context,
    const AttentionOptions& options,
    const OperationOptions& operation_options) {
  const AddedKeys& added = operation_options.added_keys;
  if (added.bias_k.data() != nullptr || added.zero_attn) {
    return value_error(kGradientAttention, "added_keys", "given", "none",
                       ErrorCode::unsupported);
  }
  HEADWISE_ASSIGN(const auto spec, spec_of(kGradientAttention, heads, options,
                                           operation_options));
  const auto [B, Lq, Hq, D] = heads.query.extents();
  HEADWISE_TRY(check_shape(kGradientAttention, "d_context", d_context,
                           "(B, Lq, Hq, Dv)",
                           Extents<4>{B, Lq, Hq, spec.shape.Dv}));
  return spec.shape;
}

Result<OwnHeads> own_heads(const AttentionInputsOf<float>& heads,
                           const AttentionShape& shape,
                           const OperationOptions& operation_options) {
  OwnHeads own{heads, operation_options};
  if (shape.Hkv != shape.Hq) {
    HEADWISE_ASSIGN(auto key, repeated(heads.key, shape));
    HEADWISE_ASSIGN(auto value, repeated(heads.value, shape));
    own.key = std::move(key);
    own.value = std::move(value);
    own.heads.key = own.key;
    own.heads.value = own.value;
    own.operation_options.kv_groups = {};
  }
  return own;
}

double head_dot(TensorView<const float, 4> x, TensorView<const float, 4> y,
                std::size_t b, std::size_t j, std::size_t h) {
  double sum = 0;
  for (std::size_t d = 0; d < x.extent(3); ++d) {
    sum +=
        static_cast<double>(x(b, j, h, d)) * static_cast<double>(y(b, j, h, d));
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
  HEADWISE_ASSIGN(auto context, Tensor<float, 4>::create_unset({B, Lq, H, Dv}));
  HEADWISE_ASSIGN(auto rows, Tensor<float, 4>::create_unset({B, H, Lq, 2}));
  HEADWISE_ASSIGN(auto d_value,
                  Tensor<float, 4>::create_unset(heads.value.extents()));
  HEADWISE_TRY(attention(heads.query, heads.key, heads.value,
                         {.output = context, .softmax_rows = rows}, options,
                         operation_options));
  HEADWISE_TRY(attention_backward({.query = heads.query,
                                   .key = heads.key,
                                   .value = heads.value,
                                   .output = context,
                                   .softmax_rows = rows,
                                   .d_output = d_context},
                                  {.value = d_value}, options,
                                  operation_options));
  return d_value;
}

// Of a batch that is not ragged, of heads of their own.
Result<GradientAttention> sums_of_batch(
    const AttentionInputsOf<float>& heads, TensorView<const float, 4> d_context,
    const AttentionOptions& options,
    const OperationOptions& operation_options) {
  HEADWISE_ASSIGN(const auto d_value,
                  d_values(heads, d_context, options, operation_options));
  const auto [B, Lkv, H, Dv] = heads.value.extents();
  HEADWISE_ASSIGN(auto columns, Tensor<float, 3>::create({B, H, Lkv}));
  HEADWISE_ASSIGN(auto totals, Tensor<double, 2>::create({B, H}));
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t h = 0; h < H; ++h) {
      for (std::size_t j = 0; j < Lkv; ++j) {
        const bool reached = head_dot(d_value, d_value, b, j, h) != 0;
        const double sum =
            reached ? head_dot(heads.value, d_value, b, j, h) : 0;
        columns(b, h, j) = static_cast<float>(sum);
        totals(b, h) += sum;
      }
    }
  }
  return GradientAttention{std::move(columns), std::move(totals)};
}

// The products of a query and every key of a head.
class HeadProducts {
 public:
  HeadProducts(TensorView<const float, 4> value, std::size_t b, std::size_t g)
      : row_(value.extent(1)), values_(value.extent(3) * row_.size()) {
    for (std::size_t j = 0; j < row_.size(); ++j) {
      for (std::size_t d = 0; d < value.extent(3); ++d) {
        values_[d * row_.size() + j] = static_cast<double>(value(b, j, g, d));
      }
    }
  }

  // Of query i of head h, with its weights. By select where a weight is 0: a
  // masked value may be NaN.
  std::span<const double> of(const float* weights,
                             TensorView<const float, 4> d_context,
                             std::size_t b, std::size_t i, std::size_t h) {
    std::ranges::fill(row_, 0.0);
    for (std::size_t d = 0; d < d_context.extent(3); ++d) {
      const auto gradient = static_cast<double>(d_context(b, i, h, d));
      const double* const value = values_.data() + d * row_.size();
      for (std::size_t j = 0; j < row_.size(); ++j) {
        row_[j] += gradient * value[j];
      }
    }
    for (std::size_t j = 0; j < row_.size(); ++j) {
      const auto weight = static_cast<double>(weights[j]);
      row_[j] = weight == 0 ? 0 : weight * row_[j];
    }
    return row_;
  }

 private:
  std::vector<double> row_;     // (Lkv)
  std::vector<double> values_;  // (Dv, Lkv)
};

// The map of one batch, into the first cells of `map` from sequence `first` on.
Status map_of_batch(const AttentionInputsOf<float>& heads,
                    TensorView<const float, 4> d_context,
                    const AttentionOptions& options,
                    const OperationOptions& operation_options,
                    std::size_t first_sequence, Tensor<float, 4>& map) {
  const auto [B, Lq, H, Dv] = d_context.extents();
  const std::size_t Lkv = heads.key.extent(1);
  if (Lq == 0 || Lkv == 0) {
    return ok();
  }
  const HeadMap kv_heads(H, heads.key.extent(2), operation_options.kv_groups);
  std::vector<PairSums> sums(B * H, PairSums(Lq, Lkv));
  const Executor& executor =
      options.executor ? *options.executor : Executor::default_executor();
  HEADWISE_TRY(for_weight_rows(
      {heads.query, heads.key, options, operation_options},
      [&, num_heads = H](std::size_t first,
                         TensorView<const float, 4> weights) {
        executor.parallel_for(
            sums.size(), 1, [&](std::size_t begin, std::size_t end) {
              for (std::size_t n = begin; n < end; ++n) {
                const std::size_t b = n / num_heads;
                const std::size_t h = n % num_heads;
                HeadProducts products(heads.value, b, kv_heads.kv_head(h));
                for (std::size_t i = 0; i < weights.extent(2); ++i) {
                  sums[n].add(first + i,
                              products.of(&weights(b, h, i, 0), d_context, b,
                                          first + i, h));
                }
              }
            });
        return ok();
      }));
  std::vector<float> cells(map_size(Lq) * map_size(Lkv));
  for (std::size_t n = 0; n < sums.size(); ++n) {
    sums[n].map_means(cells.data());
    for (std::size_t cell = 0; cell < cells.size(); ++cell) {
      map(first_sequence + n / H, n % H, cell / map_size(Lkv),
          cell % map_size(Lkv)) = cells[cell];
    }
  }
  return ok();
}

}  // namespace

Result<GradientAttention> gradient_attention(
    const AttentionInputsOf<float>& heads, TensorView<const float, 4> d_context,
    const AttentionOptions& options,
    const OperationOptions& operation_options) {
  return catching_out_of_memory([&]() -> Result<GradientAttention> {
    HEADWISE_ASSIGN(
        const auto shape,
        checked_shape(heads, d_context.extents(), options, operation_options));
    HEADWISE_ASSIGN(const auto own, own_heads(heads, shape, operation_options));
    if (!options.offsets.ragged()) {
      return sums_of_batch(own.heads, d_context, options,
                           own.operation_options);
    }
    const std::size_t H = heads.query.extent(2);
    HEADWISE_ASSIGN(auto columns,
                    Tensor<float, 3>::create({1, H, heads.key.extent(1)}));
    HEADWISE_ASSIGN(auto totals, Tensor<double, 2>::create(
                                     {options.offsets.query.extent(0) - 1, H}));
    const auto take = [&](const OneSequence& one) -> Status {
      HEADWISE_ASSIGN(
          const auto sums,
          sums_of_batch(one.heads,
                        rows_of(d_context, one.place.first_query, one.place.Lq),
                        one.options, one.operation_options));
      for (std::size_t h = 0; h < H; ++h) {
        for (std::size_t j = 0; j < one.place.Lkv; ++j) {
          columns(0, h, one.place.first_key + j) = sums.columns(0, h, j);
        }
        totals(one.number, h) = sums.totals(0, h);
      }
      return ok();
    };
    HEADWISE_TRY(for_each_sequence(kGradientAttention, own.heads, options,
                                   own.operation_options, take));
    return GradientAttention{std::move(columns), std::move(totals)};
  });
}

Result<Tensor<float, 4>> gradient_attention_map(
    const AttentionInputsOf<float>& heads, TensorView<const float, 4> d_context,
    const AttentionOptions& options,
    const OperationOptions& operation_options) {
  return catching_out_of_memory([&]() -> Result<Tensor<float, 4>> {
    HEADWISE_ASSIGN(
        const auto shape,
        checked_shape(heads, d_context.extents(), options, operation_options));
    HEADWISE_ASSIGN(auto map, Tensor<float, 4>::create({shape.B, shape.Hq,
                                                        map_size(shape.Lq),
                                                        map_size(shape.Lkv)}));
    if (!options.offsets.ragged()) {
      HEADWISE_TRY(
          map_of_batch(heads, d_context, options, operation_options, 0, map));
      return map;
    }
    HEADWISE_TRY(for_each_sequence(
        kGradientAttention, heads, options, operation_options,
        [&](const OneSequence& one) {
          return map_of_batch(
              one.heads,
              rows_of(d_context, one.place.first_query, one.place.Lq),
              one.options, one.operation_options, one.number, map);
        }));
    return map;
  });
}

}  // namespace headwise::inline HEADWISE_ABI
