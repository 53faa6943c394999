// What brings the caller's rows into a tile and back, on rows in the caches
// whose elements lie side by side: those of one head (B, H, L, D).
#include <algorithm>
#include <memory>

#include "kernel_loop.h"
#include "kernels/attention_tile.h"
#include "kernels/tile_layout.h"

namespace headwise {
namespace {

using namespace kernels;  // NOLINT(google-build-using-namespace): its loops

struct Layout {
  explicit Layout(std::size_t head_size)
      : D(head_size),
        rows(drawn(kKeyBlock * D, 1)),
        packed(drawn(D / kValuePanel * value_panel_size(kKeyBlock), 2)),
        p(drawn(kKeyBlock * lanes, 3)),
        attn_weights(drawn(kKeyBlock * lanes, 4)),
        block_max(drawn(lanes, 5)),
        max(drawn(lanes, 6)),
        sum(drawn(lanes, 7)) {
    std::ranges::fill(sum.elements(), 1.0f);
    // As after the softmax: no block's maximum is above the row's.
    std::ranges::fill(block_max.elements(), -1.0f);
    std::ranges::fill(max.elements(), 0.0f);
  }

  // The first `count` rows of `width` floats.
  static Rows<float> first(Tensor<float, 1>& memory, std::size_t count,
                           std::size_t width) {
    return {memory.data(), count, static_cast<std::ptrdiff_t>(width), 1};
  }
  Rows<const float> input(std::size_t count) const {
    return {rows.data(), count, static_cast<std::ptrdiff_t>(D), 1};
  }

  const TileLayout& loops = tile_layout();
  std::size_t lanes = attention_tile().query_lanes;
  std::size_t D;
  Tensor<float, 1> rows;          // (kKeyBlock, D)
  Tensor<float, 1> packed;        // and a little more
  Tensor<float, 1> p;             // (kKeyBlock, lanes)
  Tensor<float, 1> attn_weights;  // (lanes, kKeyBlock)
  Tensor<float, 1> block_max, max, sum;
};

void pack_queries(Layout& l) {
  l.loops.pack_queries(l.input(l.lanes), l.D, 0.18f, l.lanes, l.packed.data());
}
void pack_keys(Layout& l) {
  l.loops.pack_keys(l.input(kKeyBlock), l.D, l.packed.data());
}
void pack_values(Layout& l) {
  l.loops.pack_values(l.input(kKeyBlock), l.D, l.packed.data());
}
void store(Layout& l) {
  l.loops.store(l.packed.data(), l.sum.data(), l.D, l.lanes,
                Layout::first(l.rows, l.lanes, l.D));
}
void store_weights(Layout& l) {
  l.loops.store_weights(l.p.data(), nullptr, l.block_max.data(),
                        {l.max.data(), l.sum.data()}, kKeyBlock, l.lanes,
                        Layout::first(l.attn_weights, l.lanes, kKeyBlock));
}

Prepare on_rows(std::size_t D, void (*loop)(Layout&)) {
  return [D, loop] {
    const auto layout = std::make_shared<Layout>(D);
    return [layout, loop] { loop(*layout); };
  };
}

}  // namespace

void add_tile_layout(const std::string& target) {
  const std::size_t lanes = attention_tile().query_lanes;
  for (const std::size_t D : {64, 128}) {
    const auto add = [&](const std::string& loop, std::size_t rows,
                         void (*run)(Layout&)) {
      add_elements(loop + "/" + target + "/D:" + std::to_string(D),
                   static_cast<double>(rows * D), on_rows(D, run));
    };
    add("pack_queries", lanes, pack_queries);
    add("pack_keys", kKeyBlock, pack_keys);
    add("pack_values", kKeyBlock, pack_values);
    add("store", lanes, store);
  }
  constexpr std::size_t kAnySize = 64;
  add_elements("store_weights/" + target,
               static_cast<double>(lanes * kKeyBlock),
               on_rows(kAnySize, store_weights));
}

}  // namespace headwise
