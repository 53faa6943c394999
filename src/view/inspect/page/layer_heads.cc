#include "headwise/inspect/layer_heads.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "inspect/page/head_numbers.h"
#include "inspect/page/layer_parts.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// The pairs of a layer that one cell of a map pools.
struct Cell {
  std::size_t first_query;
  std::size_t queries;
  std::size_t first_key;
  std::size_t keys;
};

bool any_may_attend(const ShownLayer& layer, std::size_t h, const Cell& cell) {
  const BoundMask& mask = layer.spec().mask;
  const std::size_t b = layer.sequence();
  for (std::size_t i = cell.first_query; i < cell.first_query + cell.queries;
       ++i) {
    const std::size_t begin =
        std::max(mask.visible_begin(b, i, 1), cell.first_key);
    const std::size_t end =
        std::min(mask.visible_end(b, i, 1), cell.first_key + cell.keys);
    for (std::size_t j = begin; j < end; ++j) {
      if (mask.may_attend(b, h, i, j)) {
        return true;
      }
    }
  }
  return false;
}

Result<Tensor<float, 2>> map_of(const ShownLayer& layer, std::size_t h) {
  const TensorView<const float, 2> largest = layer.head(h).map_largest;
  HEADWISE_ASSIGN(auto map, Tensor<float, 2>::create(largest.extents()));
  Cell cell{};
  for (std::size_t r = 0; r < largest.extent(0); ++r) {
    cell.queries = map_cell_size(r, layer.queries());
    cell.first_key = 0;
    for (std::size_t c = 0; c < largest.extent(1); ++c) {
      cell.keys = map_cell_size(c, layer.keys());
      // A cell with attention has a pair that may attend.
      const bool allowed = largest(r, c) > 0 || any_may_attend(layer, h, cell);
      map(r, c) =
          allowed ? largest(r, c) : std::numeric_limits<float>::quiet_NaN();
      cell.first_key += cell.keys;
    }
    cell.first_query += cell.queries;
  }
  return map;
}

}  // namespace

Result<LayerHeads> LayerHeads::create(const ViewedLayer& layer,
                                      const AttentionOptions& options,
                                      const OperationOptions& operation_options,
                                      std::size_t sequence) {
  return catching_out_of_memory([&]() -> Result<LayerHeads> {
    HEADWISE_ASSIGN(auto shown, ShownLayer::of(layer, layer.options(options),
                                               operation_options, sequence,
                                               /*elements=*/false));
    HEADWISE_TRY(check_head_numbers(layer));
    return LayerHeads(std::make_unique<Parts>(
        Parts{std::move(shown),
              {layer.head_numbers.begin(), layer.head_numbers.end()}}));
  });
}

std::size_t LayerHeads::size() const { return parts_->layer.spec().shape.Hq; }
std::size_t LayerHeads::queries() const { return parts_->layer.queries(); }
std::size_t LayerHeads::keys() const { return parts_->layer.keys(); }

Result<LayerHead> LayerHeads::head(std::size_t h) const {
  return catching_out_of_memory([&]() -> Result<LayerHead> {
    const ShownLayer& layer = parts_->layer;
    HEADWISE_ASSIGN(auto map, map_of(layer, h));
    const std::size_t number = parts_->numbers.empty() ? h : parts_->numbers[h];
    return LayerHead{.number = number,
                     .kv_head = kv_head_number(layer.spec().shape, h, number),
                     .pooled = pool_rows(layer.head(h)),
                     .map = std::move(map)};
  });
}

Result<WholeHead> LayerHeads::whole(std::size_t h) const {
  return catching_out_of_memory([&]() -> Result<WholeHead> {
    const ShownLayer& layer = parts_->layer;
    if (!layer.maps()) {
      return argument_error(
          "layer_heads", "layer",
          message("is {} queries and {} keys", queries(), keys()),
          message("at most {}", kMostMapLength), ErrorCode::unsupported);
    }
    const TensorView<const float, 2> weights = layer.weights(h);
    const auto [Lq, Lkv] = weights.extents();
    HEADWISE_ASSIGN(auto attn_weights, Tensor<float, 3>::create({1, Lq, Lkv}));
    HEADWISE_ASSIGN(auto allowed, Tensor<bool, 3>::create({1, Lq, Lkv}));
    for (std::size_t i = 0; i < Lq; ++i) {
      for (std::size_t j = 0; j < Lkv; ++j) {
        attn_weights(0, i, j) = weights(i, j);
        allowed(0, i, j) =
            layer.spec().mask.may_attend(layer.sequence(), h, i, j);
      }
    }
    return WholeHead{std::move(attn_weights), std::move(allowed)};
  });
}

}  // namespace headwise::inline HEADWISE_ABI
