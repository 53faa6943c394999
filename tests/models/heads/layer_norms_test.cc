#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "heads/every_call.h"
#include "heads/plain_heads.h"
#include "headwise/heads/norm_statistics.h"
#include "support/errors.h"

namespace headwise::testing_support {
namespace {

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

double queries_with_a_key(const Tensor<double, 4>& weights) {
  double queries = 0;
  for (std::size_t i = 0; i < weights.extent(2); ++i) {
    double seen = 0;
    for (std::size_t h = 0; h < weights.extent(1); ++h) {
      for (std::size_t j = 0; j < weights.extent(3); ++j) {
        seen += weights(0, h, i, j);
      }
    }
    queries += seen > 0 ? 1 : 0;
  }
  return queries;
}

// f[h][j]: what key j adds to the output by head h, with all of its attention.
std::vector<PlainMatrix> projected_values(const EveryCall& call,
                                          TensorView<const float, 2> w_o) {
  const AttentionShape& shape = call.shape;
  std::vector<PlainMatrix> f(
      shape.Hq, PlainMatrix(shape.Lkv, std::vector<double>(w_o.extent(0))));
  for (std::size_t h = 0; h < shape.Hq; ++h) {
    for (std::size_t j = 0; j < shape.Lkv; ++j) {
      for (std::size_t n = 0; n < w_o.extent(0) * shape.Dv; ++n) {
        const std::size_t d = n % shape.Dv;
        f[h][j][n / shape.Dv] +=
            static_cast<double>(w_o(n / shape.Dv, h * shape.Dv + d)) *
            static_cast<double>(call.in.value(0, j, shape.kv_head(h), d));
      }
    }
  }
  return f;
}

// The layer has the call's heads; what only attention() takes is left out.
TEST(EveryLayerNormsTest, AreThoseOfTheSumOverHeads) {
  const EveryCall call = std::move(every_call().back());
  const AttentionShape& shape = call.shape;
  const auto layer = MultiHeadAttention::create({.embed_dim = 20,
                                                 .num_heads = shape.Hq,
                                                 .num_kv_heads = shape.Hkv,
                                                 .kv_group_sizes = {4, 1},
                                                 .head_dim = shape.D,
                                                 .v_head_dim = shape.Dv},
                                                Seed{5})
                         .value();
  const auto f = projected_values(call, layer.params()->w_o->weight());
  for (const OptionsCase& c : call.cases_of_weights()) {
    if (count_of(c.operation_options.added_keys) != 0 ||
        c.operation_options.score_weight.data() != nullptr) {
      continue;
    }
    const auto weights = call.weights(c);
    const auto done =
        layer_norms(layer, {call.in.query, call.in.key, call.in.value},
                    c.options)
            .value();
    const double queries = queries_with_a_key(weights);
    for (std::size_t j = 0; j < shape.Lkv; ++j) {
      double column = 0;
      for (std::size_t i = 0; i < shape.Lq; ++i) {
        std::vector<double> sum(20);
        for (std::size_t h = 0; h < shape.Hq; ++h) {
          for (std::size_t e = 0; e < sum.size(); ++e) {
            sum[e] += weights(0, h, i, j) * f[h][j][e];
          }
        }
        column += plain_norm(sum);
      }
      ASSERT_NEAR(done.columns(0, j), column / std::max(queries, 1.0), 1e-5)
          << c.name;
    }
  }
}

// An added key takes its part of the weights and belongs to no token.
TEST(EveryLayerNormsTest, HaveTheAddedKeysOfTheLayer) {
  const auto with = [](bool zero_attn) {
    return MultiHeadAttention::create({.embed_dim = 24,
                                       .num_heads = 3,
                                       .add_bias_kv = true,
                                       .add_zero_attn = zero_attn},
                                      Seed{5})
        .value();
  };
  const auto heads = plain_batch({6}, 6, 3, 8, 8);
  const AttentionInputsOf<float> inputs = {heads.query, heads.key, heads.value};
  const auto one = layer_norms(with(false), inputs).value();
  const auto two = layer_norms(with(true), inputs).value();
  const auto none = norms_of(heads);
  for (std::size_t j = 0; j < 6; ++j) {
    EXPECT_LT(two.columns(0, j), one.columns(0, j));
    EXPECT_LT(one.columns(0, j), none.columns(0, j));
  }
}

TEST(LayerNormsBitsTest, OfARaggedBatchAreThoseOfItsSequences) {
  const auto query = uniform<4>({1, 200, 3, 8}, 1, -2, 2);
  const auto key = uniform<4>({1, 200, 3, 8}, 2, -2, 2);
  const auto value = uniform<4>({1, 200, 3, 8}, 3);
  const auto layer = small_layer();
  const auto all = layer_norms(layer, {query, key, value},
                               {.mask = causal(), .offsets = kOffsets})
                       .value();
  ASSERT_EQ(all.map.extents(), (Extents<3>{4, 64, 64}));
  for (std::size_t s = 0; s + 1 < kOffsets.size(); ++s) {
    const auto first = static_cast<std::size_t>(kOffsets[s]);
    const auto one = layer_norms(layer,
                                 {sequence_of(query, s), sequence_of(key, s),
                                  sequence_of(value, s)},
                                 {.mask = causal()})
                         .value();
    for (std::size_t j = 0; j < one.columns.extent(1); ++j) {
      ASSERT_EQ(all.columns(0, first + j), one.columns(0, j));
    }
    const std::size_t cells = one.map.extent(2);
    for (std::size_t cell = 0; cell < 64 * 64; ++cell) {
      const std::size_t r = cell / 64;
      const std::size_t k = cell % 64;
      ASSERT_EQ(all.map(s, r, k),
                r < cells && k < cells ? one.map(0, r, k) : 0);
    }
  }
}

TEST(LayerNormsBitsTest, RefuseRaggedKeysOfBatchedQueries) {
  const auto query = uniform<4>({1, 4, 3, 8}, 1);
  const auto key = uniform<4>({1, 7, 3, 8}, 2);
  const auto value = uniform<4>({1, 7, 3, 8}, 3);
  const std::vector<std::int64_t> of_queries = {0, 2, 4};
  const std::vector<std::int64_t> of_keys = {0, 3, 7};
  EXPECT_THAT(layer_norms(small_layer(), {query, key, value},
                          {.offsets = Offsets::with_batched_queries(of_queries,
                                                                    of_keys)}),
              IsError(ErrorCode::unsupported, "offsets"));
}

}  // namespace
}  // namespace headwise::testing_support
