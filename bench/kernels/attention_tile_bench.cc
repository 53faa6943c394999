// The inner loops of attention on one tile in the caches: a full tile of
// queries against one block of keys and values.
#include <algorithm>
#include <cmath>
#include <memory>

#include "kernel_loop.h"
#include "kernels/attention_tile.h"

namespace headwise {
namespace {

using namespace kernels;  // NOLINT(google-build-using-namespace): its loops

struct Tile {
  explicit Tile(std::size_t head_size)
      : D(head_size),
        rows(drawn(lanes * D, 1)),
        q_t(drawn(lanes * D, 2)),
        keys(drawn(kKeyBlock * D, 3)),
        values(drawn(kKeyBlock * D, 4)),
        scores(drawn(kKeyBlock * lanes, 5)),
        context(drawn(lanes * D, 6)),
        max(drawn(lanes, 7)),
        sum(drawn(lanes, 8)),
        state_max(drawn(lanes, 9)),
        state_sum(drawn(lanes, 10)) {
    std::ranges::fill(sum.elements(), 1.0f);
    std::ranges::fill(state_sum.elements(), 1.0f);
  }

  RowState state() { return {state_max.data(), state_sum.data()}; }

  const AttentionTile& loops = attention_tile();
  std::size_t lanes = loops.query_lanes;
  std::size_t D;
  Tensor<float, 1> rows;  // (lanes, D)
  Tensor<float, 1> q_t, keys, values, scores, context;
  Tensor<float, 1> max, sum, state_max, state_sum;
};

void score(Tile& t) {
  t.loops.score(t.q_t.data(), t.keys.data(), t.D, kKeyBlock, t.D, t.lanes,
                t.scores.data());
}
void softmax(Tile& t) {
  t.loops.softmax(kKeyBlock, t.lanes, t.scores.data(), t.max.data(),
                  t.sum.data());
}
void weigh(Tile& t) {
  t.loops.weigh(t.scores.data(), t.values.data(), kKeyBlock, kKeyBlock, t.D,
                t.lanes, {t.max.data(), t.sum.data(), t.state(), false},
                t.context.data());
}

// ---- The same by plain loops, a row at a time. ----

void plain_score(Tile& t) {
  for (std::size_t i = 0; i < t.lanes; ++i) {
    for (std::size_t k = 0; k < kKeyBlock; ++k) {
      float sum = 0;
      for (std::size_t d = 0; d < t.D; ++d) {
        sum += t.rows(i * t.D + d) * t.keys(k * t.D + d);
      }
      t.scores(i * kKeyBlock + k) = sum;
    }
  }
}
void plain_softmax(Tile& t) {
  for (std::size_t i = 0; i < t.lanes; ++i) {
    float* row = t.scores.data() + i * kKeyBlock;
    const float max = *std::max_element(row, row + kKeyBlock);
    float sum = 0;
    for (std::size_t k = 0; k < kKeyBlock; ++k) {
      row[k] = std::exp2(row[k] - max);
      sum += row[k];
    }
    t.max(i) = max;
    t.sum(i) = sum;
  }
}
void plain_weigh(Tile& t) {
  for (std::size_t i = 0; i < t.lanes; ++i) {
    for (std::size_t d = 0; d < t.D; ++d) {
      float sum = 0;
      for (std::size_t k = 0; k < kKeyBlock; ++k) {
        sum += t.scores(i * kKeyBlock + k) * t.values(k * t.D + d);
      }
      t.context(i * t.D + d) = sum;
    }
  }
}

Prepare on_tile(std::size_t D, void (*loop)(Tile&)) {
  return [D, loop] {
    const auto tile = std::make_shared<Tile>(D);
    return [tile, loop] { loop(*tile); };
  };
}

}  // namespace

void add_attention_tile(const std::string& target) {
  const std::size_t lanes = attention_tile().query_lanes;
  const auto pairs = static_cast<double>(lanes * kKeyBlock);
  for (const std::size_t D : {64, 128}) {
    const std::string size = "/D:" + std::to_string(D);
    const double products = pairs * static_cast<double>(D);
    add_products("score/" + target + size, products, on_tile(D, score));
    add_products("score/plain" + size, products, on_tile(D, plain_score));
    add_products("weigh/" + target + size, products, on_tile(D, weigh));
    add_products("weigh/plain" + size, products, on_tile(D, plain_weigh));
  }
  constexpr std::size_t kAnySize = 64;
  add_elements("softmax/" + target, pairs, on_tile(kAnySize, softmax));
  add_elements("softmax/plain", pairs, on_tile(kAnySize, plain_softmax));
}

}  // namespace headwise
