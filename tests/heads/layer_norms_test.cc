#include "headwise/heads/layer_norms.h"

#include <gtest/gtest.h>

#include "heads/plain_heads.h"
#include "support/errors.h"

namespace headwise {
namespace {

using testing_support::IsError;
using testing_support::plain_batch;
using testing_support::plain_head_value;
using testing_support::plain_norm;
using testing_support::PlainBatch;
using testing_support::PlainMatrix;
using testing_support::same_bits;

MultiHeadAttention small_layer() {
  return MultiHeadAttention::create({.embed_dim = 24, .num_heads = 3}, Seed{5})
      .value();
}

LayerNorms norms_of(const PlainBatch& heads, const Executor* executor = {}) {
  AttentionOptions options = heads.options();
  options.executor = executor;
  return layer_norms(small_layer(), {heads.query, heads.key, heads.value},
                     options)
      .value();
}

// |sum over heads of weight times value|, (L, L).
PlainMatrix plain_norms(const PlainBatch& heads, std::size_t b) {
  const auto layer = small_layer();
  const auto [B, L, H, D] = heads.query.extents();
  std::vector<PlainMatrix> weights;
  for (std::size_t h = 0; h < H; ++h) {
    weights.push_back(heads.weights(b, h));
  }
  PlainMatrix norms(L, std::vector<double>(L));
  for (std::size_t j = 0; j < heads.length(b); ++j) {
    PlainMatrix f;
    for (std::size_t h = 0; h < H; ++h) {
      f.push_back(plain_head_value(layer, heads.value, b, j, h));
    }
    for (std::size_t i = 0; i < L; ++i) {
      std::vector<double> sum(24);
      for (std::size_t h = 0; h < H; ++h) {
        for (std::size_t e = 0; e < sum.size(); ++e) {
          sum[e] += weights[h][i][j] * f[h][e];
        }
      }
      norms[i][j] = plain_norm(sum);
    }
  }
  return norms;
}

class LayerNormsTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Causal, LayerNormsTest, testing::Bool());

TEST_P(LayerNormsTest, AreThoseOfTheSumOverHeads) {
  constexpr std::size_t L = 130;
  const auto heads = plain_batch({L, 70, 0}, L, 3, 8, 8, GetParam());
  const LayerNorms done = norms_of(heads);
  ASSERT_EQ(done.map.extents(), (Extents<3>{3, 64, 64}));
  for (std::size_t b = 0; b < 3; ++b) {
    const PlainMatrix norms = plain_norms(heads, b);
    PlainMatrix cells(64, std::vector<double>(64));
    for (std::size_t j = 0; j < L; ++j) {
      double column = 0;
      for (std::size_t i = 0; i < L; ++i) {
        column += norms[i][j];
        cells[i * 64 / L][j * 64 / L] +=
            norms[i][j] / static_cast<double>(map_cell_size(i * 64 / L, L) *
                                              map_cell_size(j * 64 / L, L));
      }
      EXPECT_NEAR(done.columns(b, j), column / L, 1e-6);
    }
    for (std::size_t row = 0; row < 64; ++row) {
      for (std::size_t column = 0; column < 64; ++column) {
        ASSERT_NEAR(done.map(b, row, column), cells[row][column], 1e-6);
      }
    }
  }
}

TEST(LayerNormsBitsTest, DoNotDependOnPaddingAndThreads) {
  auto heads = plain_batch({100, 20}, 100, 3, 8, 8);
  const LayerNorms all = norms_of(heads);
  for (std::size_t j = 20; j < 100; ++j) {
    heads.value(1, j, 1, 2) = NAN;
    heads.key(1, j, 2, 0) = NAN;
  }
  const Executor one = Executor::with_threads(1).value();
  const LayerNorms again = norms_of(heads, &one);
  EXPECT_TRUE(same_bits(again.columns, all.columns));
  EXPECT_TRUE(same_bits(again.map, all.map));
}

TEST(LayerNormsBitsTest, RefuseARaggedBatch) {
  const auto heads = plain_batch({6}, 6, 3, 8, 8);
  const std::vector<std::int64_t> offsets = {0, 2, 6};
  AttentionOptions options;
  options.offsets = offsets;
  EXPECT_THAT(layer_norms(small_layer(), {heads.query, heads.key, heads.value},
                          options),
              IsError(ErrorCode::unsupported, "offsets"));
}

}  // namespace
}  // namespace headwise
