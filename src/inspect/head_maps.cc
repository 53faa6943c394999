#include "headwise/inspect/head_maps.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/out_of_memory.h"
#include "headwise/inspect/view_page.h"
#include "inspect/view_head.h"
#include "inspect/view_layer.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Pairs of queries and keys that one cell of a map stands for.
struct Cell {
  std::size_t first_query;
  std::size_t queries;
  std::size_t first_key;
  std::size_t keys;
};

// Whether any pair of the cell may attend.
bool cell_is_allowed(const ShownLayer& layer, std::size_t h, const Cell& cell) {
  const BoundMask& mask = layer.spec().mask;
  const std::size_t b = layer.sequence();
  const std::size_t last_query = cell.first_query + cell.queries;
  for (std::size_t i = cell.first_query; i < last_query; ++i) {
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

Result<Tensor<float, 2>> cells_of(const ShownLayer& layer, std::size_t h) {
  const TensorView<const float, 2> given = layer.head(h).map_largest;
  auto cells = Tensor<float, 2>::create(given.extents());
  HEADWISE_TRY(cells);
  Cell cell{};
  for (std::size_t r = 0; r < given.extent(0); ++r) {
    cell.queries = map_cell_size(r, layer.queries());
    cell.first_key = 0;
    for (std::size_t c = 0; c < given.extent(1); ++c) {
      cell.keys = map_cell_size(c, layer.keys());
      // What was attended to was allowed.
      const bool allowed = given(r, c) > 0 || cell_is_allowed(layer, h, cell);
      (*cells)(r, c) =
          allowed ? given(r, c) : std::numeric_limits<float>::quiet_NaN();
      cell.first_key += cell.keys;
    }
    cell.first_query += cell.queries;
  }
  return cells;
}

}  // namespace

struct LayerHeads::Parts {
  ShownLayer layer;
};

LayerHeads::LayerHeads(std::unique_ptr<Parts> parts)
    : parts_(std::move(parts)) {}
LayerHeads::LayerHeads(LayerHeads&& other) noexcept = default;
LayerHeads& LayerHeads::operator=(LayerHeads&& other) noexcept = default;
LayerHeads::~LayerHeads() = default;

Result<LayerHeads> LayerHeads::create(TensorView<const float, 4> query,
                                      TensorView<const float, 4> key,
                                      const AttentionOptions& options,
                                      std::size_t sequence) {
  return catching_out_of_memory([&]() -> Result<LayerHeads> {
    auto layer = ShownLayer::create(query, key, options, sequence,
                                    /*elements=*/false);
    HEADWISE_TRY(layer);
    return LayerHeads(std::unique_ptr<Parts>(new Parts{*std::move(layer)}));
  });
}

std::size_t LayerHeads::num_heads() const {
  return parts_->layer.spec().shape.Hq;
}

std::size_t LayerHeads::kv_head(std::size_t h, std::size_t number) const {
  return kv_head_number(parts_->layer.spec().shape, h, number);
}

Result<HeadMap> LayerHeads::map(std::size_t h) const {
  PooledRows pooled = pool_rows(parts_->layer.head(h).rows);
  auto cells = cells_of(parts_->layer, h);
  HEADWISE_TRY(cells);
  return HeadMap{pooled.mean, pooled.empty_rows, *std::move(cells)};
}

Result<WholeHead> LayerHeads::whole(std::size_t h) const {
  const ShownLayer& layer = parts_->layer;
  if (!layer.maps()) {
    return Error{
        ErrorCode::unsupported,
        ErrorDetails{.argument = "head",
                     .given = "has " + std::to_string(layer.queries()) +
                              " queries and " + std::to_string(layer.keys()) +
                              " keys",
                     .expected = "at most " + std::to_string(kMostMapLength) +
                                 " of each for one head whole"}};
  }
  const TensorView<const float, 2> weights = layer.head(h).attn_weights;
  const auto [Lq, Lkv] = weights.extents();
  auto attn_weights = Tensor<float, 3>::create({1, Lq, Lkv});
  HEADWISE_TRY(attn_weights);
  auto allowed = Tensor<bool, 3>::create({1, Lq, Lkv});
  HEADWISE_TRY(allowed);
  for (std::size_t i = 0; i < Lq; ++i) {
    for (std::size_t j = 0; j < Lkv; ++j) {
      (*attn_weights)(0, i, j) = weights(i, j);
      (*allowed)(0, i, j) =
          layer.spec().mask.may_attend(layer.sequence(), h, i, j);
    }
  }
  return WholeHead{*std::move(attn_weights), *std::move(allowed)};
}

}  // namespace headwise::inline HEADWISE_ABI
