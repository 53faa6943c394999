#include "heads/map_overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "heads/naive_weights.h"
#include "headwise/run/executor.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

struct Model {
  std::vector<Heads> heads;  // by layer
  bool causal = false;

  std::vector<ComparedLayer> layers() const {
    std::vector<ComparedLayer> all;
    for (const Heads& layer : heads) {
      all.push_back({layer.query,
                     layer.key,
                     {.mask = causal ? headwise::causal() : Mask()}});
    }
    return all;
  }
};

double overlap(const Tensor<double, 3>& a, std::size_t head_a,
               const Tensor<double, 3>& b, std::size_t head_b) {
  const std::size_t L = a.extent(1);
  double sum = 0;
  for (std::size_t i = 0; i < L; ++i) {
    for (std::size_t j = 0; j < L; ++j) {
      sum += std::min(a(head_a, i, j), b(head_b, i, j));
    }
  }
  return sum / static_cast<double>(L);
}

Tensor<double, 2> overlaps(const Model& a, const Model& b,
                           std::size_t threads = 2) {
  const auto layers_a = a.layers();
  const auto layers_b = b.layers();
  const auto executor = Executor::with_threads(threads).value();
  return map_overlaps(layers_a, layers_b, &executor).value();
}

// The maps of all heads, in plain matrices.
std::vector<double> plain_overlaps(const Model& a, const Model& b) {
  std::vector<double> found;
  for (const Heads& layer_a : a.heads) {
    const auto maps_a = naive_weights(layer_a, a.causal);
    for (std::size_t m = 0; m < maps_a.extent(0); ++m) {
      for (const Heads& layer_b : b.heads) {
        const auto maps_b = naive_weights(layer_b, b.causal);
        for (std::size_t n = 0; n < maps_b.extent(0); ++n) {
          found.push_back(overlap(maps_a, m, maps_b, n));
        }
      }
    }
  }
  return found;
}

void expect_the_plain_overlaps(const Model& a, const Model& b) {
  const auto found = overlaps(a, b);
  EXPECT_TRUE(all_near(found.elements(),
                       std::span<const double>(plain_overlaps(a, b)), 2e-6));
}

// Layers, heads, key heads and head sizes differ.
struct TwoModels {
  explicit TwoModels(std::size_t tokens) {
    a.heads.push_back(random_heads(tokens, 4, 2, 8, 1));
    a.heads.push_back(random_heads(tokens, 3, 3, 8, 3));
    b.heads.push_back(random_heads(tokens, 2, 2, 16, 5));
  }
  Model a;
  Model b;
};

TEST(MapOverlapTest, IsThatOfPlainMatrices) {
  for (const std::size_t tokens : {1U, 2U, 15U, 16U, 17U, 48U, 49U, 101U}) {
    SCOPED_TRACE(std::to_string(tokens) + " tokens");
    TwoModels models(tokens);
    expect_the_plain_overlaps(models.a, models.b);
    models.b.causal = true;
    expect_the_plain_overlaps(models.a, models.b);
    models.a.causal = true;
    expect_the_plain_overlaps(models.a, models.b);
  }
}

TEST(MapOverlapTest, IsOneOfAHeadWithItself) {
  const TwoModels models(77);
  const auto found = overlaps(models.a, models.a);
  for (std::size_t h = 0; h < found.extent(0); ++h) {
    EXPECT_NEAR(found(h, h), 1, 1e-6);
    EXPECT_LE(found(h, h), 1);
  }
}

TEST(MapOverlapTest, HasTheSameBitsForAnyNumberOfThreads) {
  const TwoModels models(300);
  const auto one = overlaps(models.a, models.b, 1);
  for (const std::size_t threads : {2U, 3U, 8U}) {
    const auto several = overlaps(models.a, models.b, threads);
    EXPECT_TRUE(std::ranges::equal(one.elements(), several.elements()));
  }
}

TEST(MapOverlapTest, LeavesOutALayerWithoutHeads) {
  TwoModels models(5);
  models.a.heads[0] = random_heads(5, 0, 0, 8, 1);
  expect_the_plain_overlaps(models.a, models.b);
}

TEST(MapOverlapTest, IsEmptyWhereAModelHasNoLayer) {
  const Model none;
  const TwoModels models(5);
  EXPECT_EQ(overlaps(none, models.a).extents(), (Extents<2>{0, 7}));
  EXPECT_EQ(overlaps(models.a, none).extents(), (Extents<2>{7, 0}));
}

TEST(MapOverlapTest, RefusesWeightsThatAreNaN) {
  TwoModels models(50);
  models.a.heads[1].query(0, 49, 2, 3) =
      std::numeric_limits<float>::quiet_NaN();
  const auto a = models.a.layers();
  const auto b = models.b.layers();
  const auto done = map_overlaps(b, a);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::bad_data);
  EXPECT_EQ(done.error().message(),
            "map_overlaps: b.layers[1] computes NaN in head 2, expected "
            "attention weights that are numbers");
}

TEST(MapOverlapTest, RefusesDifferentNumbersOfTokens) {
  TwoModels models(5);
  models.b.heads.push_back(random_heads(6, 2, 2, 16, 7));
  const auto a = models.a.layers();
  const auto b = models.b.layers();
  const auto done = map_overlaps(a, b);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::shape_mismatch);
  EXPECT_EQ(done.error().message(),
            "map_overlaps: b.layers[1].query has shape (1, 6, 2, 16), expected "
            "(1, L, H, D) = (1, 5, 2, 16)");
}

}  // namespace
}  // namespace headwise::testing_support
