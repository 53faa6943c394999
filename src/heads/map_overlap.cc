#include "headwise/heads/map_overlap.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/attention/forward.h"
#include "headwise/steps/mask.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr const char* kOperation = "map_overlaps";

// Queries whose attention weights are held at a time.
constexpr std::size_t kTileRows = 32;

double row_overlap(const float* a, const float* b, std::size_t keys) {
  constexpr std::size_t kLanes = 16;
  std::array<float, kLanes> lanes{};
  std::size_t j = 0;
  for (; j + kLanes <= keys; j += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      lanes[l] += std::min(a[j + l], b[j + l]);
    }
  }
  double sum = 0;
  for (; j < keys; ++j) {
    sum += static_cast<double>(std::min(a[j], b[j]));
  }
  for (const float lane : lanes) {
    sum += static_cast<double>(lane);
  }
  return sum;
}

// The attention weights of some queries, in all heads of a model.
class MapTile {
 public:
  MapTile(const ComparedMaps& maps, const Executor& executor)
      : maps_(maps), executor_(executor), weights_(maps.layers.size()) {}

  Status compute(std::size_t first, std::size_t rows) {
    for (std::size_t n = 0; n < weights_.size(); ++n) {
      if (maps_.layers[n].query.extent(2) != 0) {
        HEADWISE_TRY(compute_layer(maps_.layers[n], first, rows, weights_[n]));
      }
    }
    return ok();
  }

  // The keys of tile row r, of each head.
  std::vector<const float*> rows(std::size_t r) const {
    std::vector<const float*> found;
    for (const Tensor<float, 4>& layer : weights_) {
      for (std::size_t h = 0; h < layer.extent(1); ++h) {
        found.push_back(&layer(0, h, r, 0));
      }
    }
    return found;
  }

 private:
  Status compute_layer(const ComparedLayer& layer, std::size_t first,
                       std::size_t rows, Tensor<float, 4>& weights) const {
    const auto [B, L, Hq, D] = layer.query.extents();
    const TensorView<const float, 4> query(
        &layer.query(0, first, 0, 0), {B, rows, Hq, D}, layer.query.strides());
    // The output is not used, so values of one feature are enough.
    Extents<4> one_feature = layer.key.extents();
    one_feature[3] = 1;
    const TensorView<const float, 4> value(layer.key.data(), one_feature,
                                           layer.key.strides());
    auto output = Tensor<float, 4>::create_unset({B, rows, Hq, 1});
    auto made =
        Tensor<float, 4>::create_unset_in(std::move(weights), {B, Hq, rows, L});
    HEADWISE_TRY(output);
    HEADWISE_TRY(made);
    weights = *std::move(made);
    AttentionOptions options;
    options.mask = maps_.causal ? causal() : Mask();
    options.query_start = static_cast<std::int64_t>(first);
    options.attn_weights = AttnWeights::per_head;
    options.executor = &executor_;
    return attention(query, layer.key, value,
                     {.output = *output, .attn_weights = weights}, options);
  }

  const ComparedMaps& maps_;
  const Executor& executor_;
  std::vector<Tensor<float, 4>> weights_;  // (1, H, rows, L), by layer
};

std::size_t heads_of(const ComparedMaps& maps) {
  std::size_t heads = 0;
  for (const ComparedLayer& layer : maps.layers) {
    heads += layer.query.extent(2);
  }
  return heads;
}

Status check_tokens(const ComparedMaps& maps, std::string_view name,
                    std::size_t tokens) {
  for (std::size_t n = 0; n < maps.layers.size(); ++n) {
    const ComparedLayer& layer = maps.layers[n];
    for (const auto& [tensor, given] :
         {std::pair("query", layer.query), std::pair("key", layer.key)}) {
      const auto [B, L, H, D] = given.extents();
      HEADWISE_TRY(check_shape(
          kOperation,
          std::string(name) + ".layers[" + std::to_string(n) + "]." + tensor,
          given.extents(), "(1, L, H, D)", Extents<4>{1, tokens, H, D}));
    }
  }
  return ok();
}

// Adds the overlaps of the tile's rows, row by row.
void add_rows(const MapTile& a, const MapTile& b, std::size_t rows,
              std::size_t tokens, const Executor& executor,
              TensorView<double, 2> sums) {
  const auto [heads_a, heads_b] = sums.extents();
  for (std::size_t r = 0; r < rows; ++r) {
    const std::vector<const float*> rows_a = a.rows(r);
    const std::vector<const float*> rows_b = b.rows(r);
    executor.parallel_for(
        heads_a, 1 + 100'000 / (heads_b * tokens),
        [&, heads_b = heads_b](std::size_t begin, std::size_t end) {
          for (std::size_t m = begin; m < end; ++m) {
            for (std::size_t n = 0; n < heads_b; ++n) {
              sums(m, n) += row_overlap(rows_a[m], rows_b[n], tokens);
            }
          }
        });
  }
}

}  // namespace

Result<Tensor<double, 2>> map_overlaps(const ComparedMaps& a,
                                       const ComparedMaps& b,
                                       const Executor* executor) try {
  const Executor& run = executor ? *executor : Executor::default_executor();
  auto sums = Tensor<double, 2>::create({heads_of(a), heads_of(b)});
  HEADWISE_TRY(sums);
  const std::size_t tokens =
      a.layers.empty() ? 0 : a.layers.front().query.extent(1);
  HEADWISE_TRY(check_tokens(a, "a", tokens));
  HEADWISE_TRY(check_tokens(b, "b", tokens));
  MapTile tile_a(a, run);
  MapTile tile_b(b, run);
  for (std::size_t first = 0; sums->size() != 0 && first < tokens;
       first += kTileRows) {
    const std::size_t rows = std::min(kTileRows, tokens - first);
    HEADWISE_TRY(tile_a.compute(first, rows));
    HEADWISE_TRY(tile_b.compute(first, rows));
    add_rows(tile_a, tile_b, rows, tokens, run, *sums);
  }
  for (double& sum : sums->elements()) {
    // Weights of a row add up to 1 but for rounding.
    sum = std::min(1.0, sum / static_cast<double>(tokens));
  }
  return sums;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
