#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "heads/head_values.h"
#include "heads/one_sequence.h"
#include "heads/pair_sums.h"
#include "heads/weight_tiles.h"
#include "headwise/heads/norm_statistics.h"
#include "module/layer_call.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kLayerNorms = "layer_norms";

// f[h,j] . f[g,j] for g <= h, (B, H (H + 1) / 2, Lkv): keys last, so that the
// loops over keys are the inner ones.
class Products {
 public:
  static Result<Products> create(const HeadValues& values,
                                 TensorView<const float, 4> value,
                                 const Executor& executor);

  // norms[j] = |sum_h weights(h, j) f[h,j]|
  void norms_of(std::size_t b, TensorView<const float, 2> weights,
                std::span<double> norms) const;

 private:
  std::size_t heads_ = 0;
  Tensor<double, 3> products_;
};

double feature_dot(const float* a, const float* b, std::size_t features) {
  double sum = 0;
  for (std::size_t e = 0; e < features; ++e) {
    sum += static_cast<double>(a[e]) * static_cast<double>(b[e]);
  }
  return sum;
}

Result<Products> Products::create(const HeadValues& values,
                                  TensorView<const float, 4> value,
                                  const Executor& executor) {
  constexpr std::size_t kKeys = 128;  // whose f are kept at a time
  const std::size_t B = value.extent(0);
  const std::size_t Lkv = value.extent(1);
  Products made;
  made.heads_ = values.num_heads();
  const std::size_t H = made.heads_;
  HEADWISE_ASSIGN(auto products,
                  Tensor<double, 3>::create_unset({B, H * (H + 1) / 2, Lkv}));
  for (std::size_t first = 0; first < Lkv; first += kKeys) {
    const std::size_t count = std::min(kKeys, Lkv - first);
    std::vector<Tensor<float, 3>> f;
    for (std::size_t h = 0; h < H; ++h) {
      HEADWISE_ASSIGN(auto of_head,
                      values.of(h, value, first, count, executor));
      f.push_back(std::move(of_head));
    }
    executor.parallel_for(
        H == 0 ? 0 : B * count, 1, [&](std::size_t begin, std::size_t end) {
          const std::size_t features = f.front().extent(2);
          for (std::size_t row = begin; row < end; ++row) {
            const std::size_t j = first + row % count;
            std::size_t pair = 0;
            for (std::size_t h = 0; h < H; ++h) {
              for (std::size_t g = 0; g <= h; ++g) {
                products(row / count, pair++, j) =
                    feature_dot(f[h].data() + row * features,
                                f[g].data() + row * features, features);
              }
            }
          }
        });
  }
  made.products_ = std::move(products);
  return made;
}

void Products::norms_of(std::size_t b, TensorView<const float, 2> weights,
                        std::span<double> norms) const {
  const std::size_t Lkv = norms.size();
  std::ranges::fill(norms, 0.0);
  std::size_t pair = 0;
  for (std::size_t h = 0; h < heads_; ++h) {
    for (std::size_t g = 0; g <= h; ++g) {
      const double* const products = &products_(b, pair++, 0);
      const float* const w_h = &weights(h, 0);
      const float* const w_g = &weights(g, 0);
      const double times = g == h ? 1 : 2;
      for (std::size_t j = 0; j < Lkv; ++j) {
        // By select: a masked key may hold NaN.
        const double both =
            static_cast<double>(w_h[j]) * static_cast<double>(w_g[j]);
        norms[j] += both == 0 ? 0 : times * both * products[j];
      }
    }
  }
  for (double& norm : norms) {
    norm = std::sqrt(std::max(norm, 0.0));
  }
}

// The norms of the pairs, summed query by query.
class NormSums {
 public:
  NormSums(const Products& products, const Extents<4>& query, std::size_t Lkv,
           const Executor& executor)
      : products_(products),
        executor_(executor),
        Lq_(query[1]),
        Lkv_(Lkv),
        sums_(query[0], PairSums(Lq_, Lkv)),
        queries_(query[0]) {}

  // weights (B, H, rows, Lkv + added keys) of the queries from `first` on.
  void add(std::size_t first, TensorView<const float, 4> weights) {
    const auto [B, H, rows, columns] = weights.extents();
    if (Lkv_ == 0) {
      return;
    }
    std::vector<double> norms(rows * Lkv_);
    const auto norms_of = [&](std::size_t i) {
      return std::span(norms).subspan(i * Lkv_, Lkv_);
    };
    for (std::size_t b = 0; b < B; ++b) {
      const auto of_head = [&, b, heads = H](std::size_t i) {
        return TensorView<const float, 2>(&weights(b, 0, i, 0), {heads, Lkv_},
                                          {weights.stride(1), 1});
      };
      executor_.parallel_for(rows, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          products_.norms_of(b, of_head(i), norms_of(i));
        }
      });
      for (std::size_t i = 0; i < rows; ++i) {
        sums_[b].add(first + i, norms_of(i));
        const auto not_zero = [](double x) { return x != 0; };
        queries_[b] += std::ranges::any_of(norms_of(i), not_zero) ? 1 : 0;
      }
    }
  }

  Result<LayerNorms> means() const {
    const std::size_t B = sums_.size();
    HEADWISE_ASSIGN(auto columns, Tensor<float, 2>::create({B, Lkv_}));
    HEADWISE_ASSIGN(
        auto map, Tensor<float, 3>::create({B, map_size(Lq_), map_size(Lkv_)}));
    for (std::size_t b = 0; b < B; ++b) {
      sums_[b].column_means(queries_[b], columns.data() + b * Lkv_);
      sums_[b].map_means(map.data() + b * map_size(Lq_) * map_size(Lkv_));
    }
    return LayerNorms{std::move(columns), std::move(map)};
  }

 private:
  const Products& products_;
  const Executor& executor_;
  std::size_t Lq_;
  std::size_t Lkv_;
  std::vector<PairSums> sums_;        // of each sequence
  std::vector<std::size_t> queries_;  // of each that have a key
};

// Of a batch that is not ragged.
Result<LayerNorms> norms_of_batch(const HeadValues& values,
                                  const AttentionInputsOf<float>& heads,
                                  const AttentionOptions& options,
                                  const OperationOptions& operation_options) {
  const Executor& executor =
      options.executor ? *options.executor : Executor::default_executor();
  HEADWISE_ASSIGN(const auto products,
                  Products::create(values, heads.value, executor));
  NormSums sums(products, heads.query.extents(), heads.key.extent(1), executor);
  HEADWISE_TRY(for_weight_rows(
      {heads.query, heads.key, options, operation_options},
      [&](std::size_t first, TensorView<const float, 4> weights) {
        sums.add(first, weights);
        return ok();
      }));
  return sums.means();
}

// Each sequence alone; columns have the layout of the keys.
Result<LayerNorms> norms_of_ragged(const HeadValues& values,
                                   const AttentionInputsOf<float>& heads,
                                   const AttentionOptions& options,
                                   const OperationOptions& operation_options) {
  const auto longest = [](TensorView<const std::int64_t, 1> offsets) {
    std::int64_t most = 0;
    for (std::size_t b = 0; b + 1 < offsets.extent(0); ++b) {
      most = std::max(most, offsets(b + 1) - offsets(b));
    }
    return static_cast<std::size_t>(most);
  };
  std::vector<LayerNorms> parts;
  HEADWISE_ASSIGN(auto columns,
                  Tensor<float, 2>::create({1, heads.key.extent(1)}));
  const auto take = [&](const OneSequence& one) -> Status {
    HEADWISE_ASSIGN(auto norms, norms_of_batch(values, one.heads, one.options,
                                               one.operation_options));
    std::ranges::copy(norms.columns.elements(),
                      columns.data() + one.place.first_key);
    parts.push_back(std::move(norms));
    return ok();
  };
  HEADWISE_TRY(
      for_each_sequence(kLayerNorms, heads, options, operation_options, take));
  HEADWISE_ASSIGN(auto map,
                  Tensor<float, 3>::create(
                      {parts.size(), map_size(longest(options.offsets.query)),
                       map_size(longest(options.offsets.key))}));
  for (std::size_t b = 0; b < parts.size(); ++b) {
    const Tensor<float, 3>& own = parts[b].map;
    for (std::size_t r = 0; r < own.extent(1); ++r) {
      for (std::size_t c = 0; c < own.extent(2); ++c) {
        map(b, r, c) = own(0, r, c);
      }
    }
  }
  return LayerNorms{std::move(columns), std::move(map)};
}

}  // namespace

Result<LayerNorms> layer_norms(const MultiHeadAttention& layer,
                               const AttentionInputsOf<float>& heads,
                               const AttentionOptions& options) {
  return catching_out_of_memory([&]() -> Result<LayerNorms> {
    HEADWISE_ASSIGN(
        const auto values,
        HeadValues::create(kLayerNorms, layer, heads.value.extents()));
    const OperationOptions of_layer =
        operation_options_of(layer.config(), *layer.params(), values.groups());
    return options.offsets.ragged()
               ? norms_of_ragged(values, heads, options, of_layer)
               : norms_of_batch(values, heads, options, of_layer);
  });
}

}  // namespace headwise::inline HEADWISE_ABI
