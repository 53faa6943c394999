#include "headwise/steps/embedding.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "steps/embedding_gradient.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

TEST(EmbeddingTest, EachTokenIsItsRowOfTheWeight) {
  const Embedding embedding =
      Embedding::from_weight(
          tensor_of<float, 2>({3, 2}, {0, 1, 10, 11, 20, 21}))
          .value();
  const auto ids = tensor_of<TokenId, 2>({2, 3}, {2, 0, 2, 1, 1, 0});
  const auto embedded = embedding.forward(ids).value();
  EXPECT_EQ(embedded.extents(), (Extents<3>{2, 3, 2}));
  EXPECT_THAT(embedded.elements(),
              ElementsAre(20, 21, 0, 1, 20, 21, 10, 11, 10, 11, 0, 1));
}

TEST(EmbeddingTest, TheIdsMayBeAStridedView) {
  const Embedding embedding =
      Embedding::from_weight(tensor_of<float, 2>({3, 1}, {0, 10, 20})).value();
  const auto ids = tensor_of<TokenId, 2>({2, 3}, {2, 0, 2, 1, 1, 0});
  const auto embedded =
      embedding.forward(view_of(ids).permuted({1, 0})).value();
  EXPECT_EQ(embedded.extents(), (Extents<3>{3, 2, 1}));
  EXPECT_THAT(embedded.elements(), ElementsAre(20, 10, 0, 10, 20, 0));
}

TEST(EmbeddingTest, AnIdOutOfRangeNamesItsSequenceAndPosition) {
  const Embedding embedding =
      Embedding::create({.vocab_size = 3, .embed_dim = 2}, Seed{7}).value();
  const auto ids = tensor_of<TokenId, 2>({2, 2}, {0, 1, 2, 3});
  const auto embedded = embedding.forward(ids);
  ASSERT_FALSE(embedded);
  EXPECT_EQ(embedded.error().code(), ErrorCode::out_of_range);
  EXPECT_EQ(embedded.error().message(),
            "tokens[1][1] is 3, expected 0 to "
            "vocab_size - 1 = 2");
}

TEST(EmbeddingTest, TheFirstNumbersOfASeedNeverChange) {
  const Embedding embedding =
      Embedding::create({.vocab_size = 2, .embed_dim = 4}, Seed{7}).value();
  const float* weight = embedding.weight().data();
  EXPECT_THAT(std::span(weight, 4),
              ElementsAre(-0x1.1df176p-1f, -0x1.ce90f4p-2f, 0x1.0ed70ap-1f,
                          -0x1.a80418p-1f));
}

TEST(EmbeddingTest, TheWeightIsNormalWithMeanZeroAndDeviationOne) {
  const Embedding embedding =
      Embedding::create({.vocab_size = 200, .embed_dim = 500}, Seed{11})
          .value();
  const std::size_t count = embedding.weight().size();
  double sum = 0;
  double squares = 0;
  std::size_t within_one = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = embedding.weight().data()[i];
    sum += x;
    squares += x * x;
    within_one += std::abs(x) < 1;
  }
  const double n = static_cast<double>(count);  // 1e5: errors of 1/316
  EXPECT_NEAR(sum / n, 0, 0.015);
  EXPECT_NEAR(squares / n, 1, 0.02);
  EXPECT_NEAR(static_cast<double>(within_one) / n, 0.6827, 0.007);
}

TEST(EmbeddingTest, ASeedGivesTheSameNumbersEveryTimeAndAnotherSeedOthers) {
  const EmbeddingConfig config{.vocab_size = 5, .embed_dim = 3};
  const auto a = Embedding::create(config, Seed{1}).value();
  const auto b = Embedding::create(config, Seed{1}).value();
  const auto c = Embedding::create(config, Seed{2}).value();
  const std::span<const float> of_a(a.weight().data(), 15);
  EXPECT_TRUE(same_bits(of_a, {b.weight().data(), 15}));
  EXPECT_FALSE(same_bits(of_a, {c.weight().data(), 15}));
}

TEST(EmbeddingTest, AnEmptyBatchIsLegal) {
  const Embedding embedding =
      Embedding::create({.vocab_size = 3, .embed_dim = 2}, Seed{7}).value();
  const auto ids = Tensor<TokenId, 2>::create({0, 4}).value();
  EXPECT_EQ(embedding.forward(ids).value().extents(), (Extents<3>{0, 4, 2}));
}

TEST(EmbeddingTest, TheGradientOfARowIsSummedOverItsTokensInBlocks) {
  const auto embedding =
      Embedding::create({.vocab_size = 5, .embed_dim = 3}, Seed{7}).value();
  constexpr std::size_t L = 300;
  auto ids = Tensor<TokenId, 2>::create({2, L}).value();
  for (std::size_t n = 0; n < ids.size(); ++n) {
    ids.data()[n] = static_cast<TokenId>(n * n % 4);  // never 4
  }
  const auto d = uniform<3>({2, L, 3}, 30);
  auto want = Tensor<float, 2>::create({5, 3}).value();
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t first = 0; first < L; first += 128) {
      for (TokenId id = 0; id < 5; ++id) {
        for (std::size_t c = 0; c < 3; ++c) {
          float sum = 0;
          for (std::size_t t = first; t < std::min(first + 128, L); ++t) {
            sum += ids(b, t) == id ? d(b, t, c) : 0;
          }
          want(id, c) += sum;
        }
      }
    }
  }
  const auto got = embedding.backward(ids, d).value();
  EXPECT_TRUE(same_bits(got, want));

  const auto frozen = embedding.backward(ids, d, 1).value();
  EXPECT_THAT(std::span(&frozen(1, 0), 3), testing::Each(0.0f));
  EXPECT_TRUE(same_bits({&frozen(0, 0), 3}, {&want(0, 0), 3}));
  const auto refused = embedding.backward(ids, d, 5);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused, IsAbout("frozen", "5", "4"));
}

TEST(EmbeddingTest, WhatUpdateWritesIsLookedUp) {
  auto embedding =
      Embedding::create({.vocab_size = 3, .embed_dim = 2}, Seed{7}).value();
  embedding.update([](std::span<float> weight) {
    ASSERT_EQ(weight.size(), 6u);
    std::iota(weight.begin(), weight.end(), 1.0f);
  });
  const auto ids = tensor_of<TokenId, 2>({1, 1}, {2});
  const auto embedded = embedding.forward(ids).value();
  EXPECT_EQ(embedded(0, 0, 0), 5);
  EXPECT_EQ(embedded(0, 0, 1), 6);
}

TEST(EmbeddingTest, ASizeOfZeroIsAnErrorThatNamesIt) {
  const auto no_vocab = Embedding::create({.embed_dim = 2}, Seed{7});
  ASSERT_FALSE(no_vocab);
  EXPECT_EQ(no_vocab.error().code(), ErrorCode::invalid_argument);
  EXPECT_THAT(no_vocab, IsAbout("vocab_size", "0", "at least 1"));
  const auto no_dim = Embedding::create({.vocab_size = 2}, Seed{7});
  ASSERT_FALSE(no_dim);
  EXPECT_THAT(no_dim, IsAbout("embed_dim", "0", "at least 1"));
  const auto empty = Embedding::from_weight({});
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty, IsAbout("vocab_size", "0", "at least 1"));
}

TEST(EmbeddingTest, ASizeThatOverflowsIsAnErrorNotACrash) {
  const std::size_t huge = std::size_t{1} << 40;
  const auto embedding =
      Embedding::create({.vocab_size = huge, .embed_dim = huge}, Seed{7});
  ASSERT_FALSE(embedding);
  EXPECT_EQ(embedding.error().code(), ErrorCode::out_of_memory);
}

TEST(EmbeddingTest, TheGradientOfSomeRowsHasTheBitsOfAll) {
  const Embedding embedding =
      Embedding::from_weight(uniform<2>({9, 5}, 1, -1, 1)).value();
  auto ids = Tensor<TokenId, 2>::create({1, 300}).value();
  for (std::size_t t = 0; t < 300; ++t) {
    ids(0, t) = static_cast<TokenId>(t * t % 7);
  }
  const auto d = uniform<3>({1, 300, 5}, 2, -1, 1);
  const auto all = embedding.backward(ids, d).value();
  for (const RowRange rows : {RowRange{0, 9}, {0, 1}, {2, 4}, {8, 1}, {3, 0}}) {
    const auto some = embedding_gradient(ids, d, rows, {}).value();
    ASSERT_EQ(some.extent(0), rows.count);
    EXPECT_TRUE(
        same_bits(some.elements(),
                  all.elements().subspan(rows.first * 5, rows.count * 5)));
  }
}

}  // namespace
}  // namespace headwise::testing_support
