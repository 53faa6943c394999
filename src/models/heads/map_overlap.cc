#include "heads/map_overlap.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "heads/weight_tiles.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr const char* kMapOverlap = "map_overlaps";

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
  MapTile(std::span<const ComparedLayer> layers, const Executor& executor)
      : layers_(layers), executor_(executor), weights_(layers.size()) {}

  // `name` is that of the maps in messages.
  Status compute(std::string_view name, std::size_t first, std::size_t count) {
    for (std::size_t n = 0; n < weights_.size(); ++n) {
      const ComparedLayer& layer = layers_[n];
      if (layer.query.extent(2) == 0) {
        continue;
      }
      AttentionOptions options = layer.options;
      options.executor = &executor_;
      HEADWISE_ASSIGN(weights_[n],
                      weights_of_queries({layer.query, layer.key, options, {}},
                                         first, count, std::move(weights_[n])));
      HEADWISE_TRY(check_numbers(name, n));
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
  // Every query sees key 0, and a row is NaN as a whole.
  Status check_numbers(std::string_view name, std::size_t n) const {
    const Tensor<float, 4>& layer = weights_[n];
    for (std::size_t h = 0; h < layer.extent(1); ++h) {
      for (std::size_t r = 0; r < layer.extent(2); ++r) {
        if (std::isnan(layer(0, h, r, 0))) {
          return argument_error(
              kMapOverlap,
              std::string(name) + ".layers[" + std::to_string(n) + "]",
              message("computes NaN in head {}", h),
              "attention weights that are numbers", ErrorCode::bad_data);
        }
      }
    }
    return ok();
  }

  std::span<const ComparedLayer> layers_;
  const Executor& executor_;
  std::vector<Tensor<float, 4>> weights_;  // (1, H, count, L), by layer
};

std::size_t heads_of(std::span<const ComparedLayer> layers) {
  std::size_t heads = 0;
  for (const ComparedLayer& layer : layers) {
    heads += layer.query.extent(2);
  }
  return heads;
}

Status check_tokens(std::span<const ComparedLayer> layers,
                    std::string_view name, std::size_t tokens) {
  for (std::size_t n = 0; n < layers.size(); ++n) {
    const ComparedLayer& layer = layers[n];
    for (const auto& [tensor, given] :
         {std::pair("query", layer.query), std::pair("key", layer.key)}) {
      const auto [B, L, H, D] = given.extents();
      HEADWISE_TRY(check_shape(
          kMapOverlap,
          std::string(name) + ".layers[" + std::to_string(n) + "]." + tensor,
          given.extents(), "(1, L, H, D)", Extents<4>{1, tokens, H, D}));
    }
  }
  return ok();
}

// Adds the overlaps of the tile's rows, row by row.
void add_overlap_rows(const MapTile& a, const MapTile& b, std::size_t rows,
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

Result<Tensor<double, 2>> map_overlaps(std::span<const ComparedLayer> a,
                                       std::span<const ComparedLayer> b,
                                       const Executor* executor) {
  const Executor& run = executor ? *executor : Executor::default_executor();
  HEADWISE_ASSIGN(auto sums,
                  Tensor<double, 2>::create({heads_of(a), heads_of(b)}));
  const auto layers = a.empty() ? b : a;
  const std::size_t tokens =
      layers.empty() ? 0 : layers.front().query.extent(1);
  HEADWISE_TRY(check_tokens(a, "a", tokens));
  HEADWISE_TRY(check_tokens(b, "b", tokens));
  MapTile tile_a(a, run);
  MapTile tile_b(b, run);
  for (std::size_t first = 0; sums.size() != 0 && first < tokens;
       first += kTileQueries) {
    const std::size_t rows = std::min(kTileQueries, tokens - first);
    HEADWISE_TRY(tile_a.compute("a", first, rows));
    HEADWISE_TRY(tile_b.compute("b", first, rows));
    add_overlap_rows(tile_a, tile_b, rows, tokens, run, sums);
  }
  for (double& sum : sums.elements()) {
    // Weights of a row add up to 1 but for rounding.
    sum = std::min(1.0, sum / static_cast<double>(tokens));
  }
  return sums;
}

}  // namespace headwise::inline HEADWISE_ABI
