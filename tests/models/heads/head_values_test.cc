#include "heads/head_values.h"

#include <gtest/gtest.h>

#include <span>

#include "heads/plain_heads.h"
#include "support/errors.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t kFirst = 3;  // of the keys that are asked for
constexpr std::size_t kCount = 4;

HeadValues values_of(const MultiHeadAttention& layer,
                     const Tensor<float, 4>& value) {
  return HeadValues::create("test", layer, value.extents()).value();
}

Tensor<float, 3> some_of(const HeadValues& values, std::size_t head,
                         const Tensor<float, 4>& value) {
  return values.of(head, value, kFirst, kCount, Executor::default_executor())
      .value();
}

TEST(HeadValuesTest, AreWhatTheOutputProjectionMakesOfSomeKeys) {
  const auto layer =
      MultiHeadAttention::create({.embed_dim = 24, .num_heads = 3}, Seed{5})
          .value();
  const auto value = uniform<4>({2, 9, 3, 8}, 1);
  const HeadValues values = values_of(layer, value);
  for (std::size_t h = 0; h < 3; ++h) {
    const auto f = some_of(values, h, value);
    ASSERT_EQ(f.extents(), (Extents<3>{2, kCount, 24}));
    for (std::size_t j = 0; j < kCount; ++j) {
      const auto want = plain_head_value(layer, value, 1, kFirst + j, h);
      for (std::size_t e = 0; e < 24; ++e) {
        EXPECT_NEAR(f(1, j, e), want[e], 1e-6);
      }
    }
  }
}

TEST(HeadValuesTest, KeepTheirNormsInAsManyNumbersAsAValue) {
  const auto layer =
      MultiHeadAttention::create({.embed_dim = 24, .num_heads = 3}, Seed{5})
          .value();
  const auto value = uniform<4>({1, 9, 3, 8}, 1);
  HeadValues values = values_of(layer, value);
  ASSERT_TRUE(values.keep_norms_only());
  for (std::size_t h = 0; h < 3; ++h) {
    const auto f = some_of(values, h, value);
    ASSERT_EQ(f.extents(), (Extents<3>{1, kCount, 8}));
    for (std::size_t j = 0; j < kCount; ++j) {
      const std::span<const float> row(&f(0, j, 0), 8);
      EXPECT_NEAR(plain_norm({row.begin(), row.end()}),
                  plain_norm(plain_head_value(layer, value, 0, kFirst + j, h)),
                  1e-6);
    }
  }
}

TEST(HeadValuesTest, AreTheValuesWithoutAnOutputProjection) {
  const auto layer =
      MultiHeadAttention::create(
          {.embed_dim = 24, .num_heads = 3, .out_proj = false}, Seed{5})
          .value();
  const auto value = uniform<4>({1, 9, 3, 8}, 1);
  HeadValues values = values_of(layer, value);
  ASSERT_TRUE(values.keep_norms_only());
  const auto f = some_of(values, 1, value);
  for (std::size_t j = 0; j < kCount; ++j) {
    EXPECT_TRUE(same_bits({&f(0, j, 0), 8}, {&value(0, kFirst + j, 1, 0), 8}));
  }
}

TEST(HeadValuesTest, RefuseValuesOfOtherHeads) {
  const auto layer =
      MultiHeadAttention::create({.embed_dim = 24, .num_heads = 3}, Seed{5})
          .value();
  EXPECT_THAT(HeadValues::create("test", layer, {1, 9, 2, 8}),
              IsError(ErrorCode::shape_mismatch, "value"));
}

}  // namespace
}  // namespace headwise::testing_support
