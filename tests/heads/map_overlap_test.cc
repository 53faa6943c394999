#include "headwise/heads/map_overlap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "headwise/run/executor.h"
#include "support/tensors.h"

namespace headwise {
namespace {

using testing_support::uniform;

// Layers with random queries and keys; the scores reach far from 0.
struct Model {
  std::vector<Tensor<float, 4>> query;
  std::vector<Tensor<float, 4>> key;
  bool causal = false;

  void add(std::size_t tokens, std::size_t heads, std::size_t kv_heads,
           std::size_t size) {
    const auto stream = static_cast<std::uint32_t>(query.size() + size);
    query.push_back(uniform<4>({1, tokens, heads, size}, stream, -3, 3));
    key.push_back(uniform<4>({1, tokens, kv_heads, size}, stream + 50, -3, 3));
  }
  std::vector<ComparedLayer> layers() const {
    std::vector<ComparedLayer> all;
    for (std::size_t n = 0; n < query.size(); ++n) {
      all.push_back({query[n], key[n]});
    }
    return all;
  }
};

using Map = std::vector<std::vector<double>>;  // [query][key]

Map map_of(const ComparedLayer& layer, std::size_t head, bool causal) {
  const auto [B, L, H, D] = layer.query.extents();
  const std::size_t kv_head = head * layer.key.extent(2) / H;
  Map map(L, std::vector<double>(L));
  for (std::size_t i = 0; i < L; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < (causal ? i + 1 : L); ++j) {
      double score = 0;
      for (std::size_t d = 0; d < layer.query.extent(3); ++d) {
        score += static_cast<double>(layer.query(0, i, head, d)) *
                 static_cast<double>(layer.key(0, j, kv_head, d));
      }
      map[i][j] = std::exp(score / std::sqrt(static_cast<double>(D)));
      sum += map[i][j];
    }
    for (double& weight : map[i]) {
      weight /= sum;
    }
  }
  return map;
}

std::vector<Map> maps_of(const Model& model) {
  std::vector<Map> maps;
  for (const ComparedLayer& layer : model.layers()) {
    for (std::size_t h = 0; h < layer.query.extent(2); ++h) {
      maps.push_back(map_of(layer, h, model.causal));
    }
  }
  return maps;
}

double overlap(const Map& a, const Map& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a.size(); ++j) {
      sum += std::min(a[i][j], b[i][j]);
    }
  }
  return sum / static_cast<double>(a.size());
}

Tensor<double, 2> overlaps(const Model& a, const Model& b,
                           std::size_t threads = 2) {
  const auto layers_a = a.layers();
  const auto layers_b = b.layers();
  const auto executor = Executor::with_threads(threads).value();
  return map_overlaps({layers_a, a.causal}, {layers_b, b.causal}, &executor)
      .value();
}

void expect_the_plain_overlaps(const Model& a, const Model& b) {
  const std::vector<Map> maps_a = maps_of(a);
  const std::vector<Map> maps_b = maps_of(b);
  const auto found = overlaps(a, b);
  ASSERT_EQ(found.extents(), (Extents<2>{maps_a.size(), maps_b.size()}));
  for (std::size_t m = 0; m < maps_a.size(); ++m) {
    for (std::size_t n = 0; n < maps_b.size(); ++n) {
      EXPECT_NEAR(found(m, n), overlap(maps_a[m], maps_b[n]), 2e-6)
          << "heads " << m << " and " << n;
    }
  }
}

// Layers, heads, key heads and head sizes differ; 77 tokens are three tiles.
struct TwoModels {
  explicit TwoModels(std::size_t tokens) {
    a.add(tokens, 4, 2, 8);
    a.add(tokens, 3, 3, 8);
    b.add(tokens, 2, 2, 16);
  }
  Model a;
  Model b;
};

TEST(MapOverlapTest, IsThatOfPlainMatrices) {
  for (const std::size_t tokens : {1, 2, 15, 16, 17, 32, 33, 77}) {
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
  for (const std::size_t threads : {2, 3, 8}) {
    const auto several = overlaps(models.a, models.b, threads);
    EXPECT_TRUE(std::ranges::equal(one.elements(), several.elements()));
  }
}

TEST(MapOverlapTest, LeavesOutALayerWithoutHeads) {
  TwoModels models(5);
  models.a.query[0] = Tensor<float, 4>::create({1, 5, 0, 8}).value();
  models.a.key[0] = Tensor<float, 4>::create({1, 5, 0, 8}).value();
  expect_the_plain_overlaps(models.a, models.b);
}

TEST(MapOverlapTest, RefusesDifferentNumbersOfTokens) {
  TwoModels models(5);
  models.b.add(6, 2, 2, 16);
  const auto a = models.a.layers();
  const auto b = models.b.layers();
  const auto done = map_overlaps({a}, {b});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::shape_mismatch);
  EXPECT_EQ(done.error().message(),
            "map_overlaps: b.layers[1].query has shape (1, 6, 2, 16), expected "
            "(1, L, H, D) = (1, 5, 2, 16)");
}

}  // namespace
}  // namespace headwise
