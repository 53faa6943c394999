// Attention weights a few queries at a time, by either way.
#include "heads/weight_tiles.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/check.h"
#include "heads/naive_weights.h"
#include "headwise/run/executor.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t kLength = 101;  // two tiles and a short one

class WeightTilesTest : public testing::TestWithParam<bool> {
 protected:
  // Of all tiles; `first` is the first query of one.
  void add(std::size_t first, TensorView<const float, 4> weights) {
    firsts_.push_back(first);
    for (std::size_t h = 0; h < weights.extent(1); ++h) {
      for (std::size_t i = 0; i < weights.extent(2); ++i) {
        for (std::size_t j = 0; j < weights.extent(3); ++j) {
          farthest_ = std::max(
              farthest_, std::abs(static_cast<double>(weights(0, h, i, j)) -
                                  expected_(h, first + i, j)));
          ++compared_;
        }
      }
    }
  }
  void expect_all() const {
    EXPECT_THAT(firsts_, ElementsAre(0, 48, 96));
    EXPECT_EQ(compared_, expected_.size());
    EXPECT_LT(farthest_, 1e-5);
  }

  WeighedHeads weighed() const {
    return {heads_.query, heads_.key, options_, no_options_};
  }

  // Four query heads read two heads of keys.
  Heads heads_ = random_heads(kLength, 4, 2, 8, 300);
  Executor executor_ = Executor::with_threads(2).value();
  AttentionOptions options_ = {.mask = GetParam() ? causal() : Mask(),
                               .executor = &executor_};
  OperationOptions no_options_;

 private:
  Tensor<double, 3> expected_ = naive_weights(heads_, GetParam());
  std::vector<std::size_t> firsts_;
  std::size_t compared_ = 0;
  double farthest_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Masks, WeightTilesTest, testing::Bool(),
                         [](const auto& causal) {
                           return causal.param ? "Causal" : "Full";
                         });

TEST_P(WeightTilesTest, SomeQueriesHaveTheBitsOfAll) {
  const auto all = weights_of_queries(weighed(), 0, kLength).value();
  // In memory that held other numbers.
  auto memory = weights_of_queries(weighed(), 0, 70).value();
  const float* const place = memory.data();
  const auto some =
      weights_of_queries(weighed(), 48, 53, std::move(memory)).value();
  EXPECT_EQ(some.data(), place);
  for (std::size_t h = 0; h < 4; ++h) {
    EXPECT_TRUE(std::equal(&some(0, h, 0, 0), &some(0, h, 0, 0) + 53 * kLength,
                           &all(0, h, 48, 0)));
  }
}

TEST_P(WeightTilesTest, EveryQueryIsVisitedOnce) {
  EXPECT_TRUE(for_weight_rows(
      weighed(), [&](std::size_t first, TensorView<const float, 4> weights) {
        add(first, weights);
        return ok();
      }));
  expect_all();
}

TEST_P(WeightTilesTest, AnErrorEndsTheWalkOverRows) {
  int calls = 0;
  const Status done =
      for_weight_rows(weighed(), [&](std::size_t, TensorView<const float, 4>) {
        ++calls;
        return Status(value_error("see", "x", "1", "0"));
      });
  EXPECT_FALSE(done);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace headwise::testing_support
