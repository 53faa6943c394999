#include "headwise/heads/gradient_attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "heads/every_call.h"
#include "heads/plain_heads.h"
#include "support/errors.h"

namespace headwise::testing_support {
namespace {

class GradientAttentionTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Causal, GradientAttentionTest, testing::Bool());

TEST_P(GradientAttentionTest, IsTheSumOfWeightsTimesTheirGradients) {
  constexpr std::size_t L = 130;
  const auto heads = plain_batch({L, 70, 0}, L, 3, 8, 5, GetParam());
  const auto d_context = uniform<4>({3, L, 3, 5}, 7);
  const AttentionInputsOf<float> inputs = {heads.query, heads.key, heads.value};
  const auto done =
      gradient_attention(inputs, d_context, heads.options()).value();
  const auto map =
      gradient_attention_map(inputs, d_context, heads.options()).value();
  for (std::size_t b = 0; b < 3; ++b) {
    for (std::size_t h = 0; h < 3; ++h) {
      const PlainMatrix weights = heads.weights(b, h);
      PlainMatrix cells(64, std::vector<double>(64));
      double total = 0;
      for (std::size_t j = 0; j < L; ++j) {
        double column = 0;
        for (std::size_t i = 0; i < L; ++i) {
          double gradient = 0;
          for (std::size_t d = 0; d < 5; ++d) {
            gradient += static_cast<double>(d_context(b, i, h, d)) *
                        static_cast<double>(heads.value(b, j, h, d));
          }
          column += weights[i][j] * gradient;
          cells[i * 64 / L][j * 64 / L] +=
              weights[i][j] * gradient /
              static_cast<double>(map_cell_size(i * 64 / L, L) *
                                  map_cell_size(j * 64 / L, L));
        }
        ASSERT_NEAR(done.columns(b, h, j), column, 1e-5);
        total += column;
      }
      EXPECT_NEAR(done.totals(b, h), total, 1e-5);
      for (std::size_t cell = 0; cell < 64 * 64; ++cell) {
        ASSERT_NEAR(map(b, h, cell / 64, cell % 64),
                    cells[cell / 64][cell % 64], 1e-6);
      }
    }
  }
}

TEST(GradientAttentionBitsTest, DoNotDependOnPaddingAndThreads) {
  auto heads = plain_batch({100, 20}, 100, 3, 8, 8);
  const auto d_context = uniform<4>({2, 100, 3, 8}, 7);
  const auto run = [&](const Executor* executor) {
    AttentionOptions options = heads.options();
    options.executor = executor;
    const AttentionInputsOf<float> inputs = {heads.query, heads.key,
                                             heads.value};
    return std::pair(
        gradient_attention(inputs, d_context, options).value(),
        gradient_attention_map(inputs, d_context, options).value());
  };
  const auto all = run(nullptr);
  for (std::size_t j = 20; j < 100; ++j) {
    heads.value(1, j, 1, 2) = NAN;
    heads.key(1, j, 2, 0) = NAN;
  }
  const Executor one = Executor::with_threads(1).value();
  const auto again = run(&one);
  EXPECT_TRUE(same_bits(again.first.columns, all.first.columns));
  EXPECT_TRUE(same_bits(again.second, all.second));
}

TEST(EveryGradientAttentionTest, IsTheSumOfWeightsTimesTheirGradients) {
  for (const EveryCall& call : every_call()) {
    const AttentionShape& shape = call.shape;
    const auto d_context =
        uniform<4>({shape.B, shape.Lq, shape.Hq, shape.Dv}, 320);
    const AttentionInputsOf<float> inputs = {call.in.query, call.in.key,
                                             call.in.value};
    for (const OptionsCase& c : call.cases_of_weights()) {
      if (count_of(c.operation_options.added_keys) != 0) {
        continue;
      }
      const auto weights = call.weights(c);
      const auto done =
          gradient_attention(inputs, d_context, c.options, c.operation_options)
              .value();
      const auto map = gradient_attention_map(inputs, d_context, c.options,
                                              c.operation_options)
                           .value();
      for (std::size_t head = 0; head < shape.B * shape.Hq; ++head) {
        const std::size_t b = head / shape.Hq;
        const std::size_t h = head % shape.Hq;
        PlainMatrix cells(64, std::vector<double>(64));
        double total = 0;
        for (std::size_t j = 0; j < shape.Lkv; ++j) {
          double column = 0;
          for (std::size_t i = 0; i < shape.Lq; ++i) {
            double gradient = 0;
            for (std::size_t d = 0; d < shape.Dv; ++d) {
              gradient +=
                  static_cast<double>(d_context(b, i, h, d)) *
                  static_cast<double>(call.in.value(b, j, shape.kv_head(h), d));
            }
            const double product = weights(b, h, i, j) * gradient;
            column += product;
            const std::size_t r = i * map_size(shape.Lq) / shape.Lq;
            const std::size_t k = j * map_size(shape.Lkv) / shape.Lkv;
            cells[r][k] +=
                product / static_cast<double>(map_cell_size(r, shape.Lq) *
                                              map_cell_size(k, shape.Lkv));
          }
          ASSERT_NEAR(done.columns(b, h, j), column, 1e-5) << c.name;
          total += column;
        }
        ASSERT_NEAR(done.totals(b, h), total, 1e-5) << c.name;
        for (std::size_t r = 0; r < map.extent(2); ++r) {
          for (std::size_t k = 0; k < map.extent(3); ++k) {
            ASSERT_NEAR(map(b, h, r, k), cells[r][k], 1e-5) << c.name;
          }
        }
      }
    }
  }
}

TEST(GradientAttentionBitsTest, OfARaggedBatchAreThoseOfItsSequences) {
  const auto query = uniform<4>({1, 200, 4, 8}, 1, -2, 2);
  const auto key = uniform<4>({1, 200, 2, 8}, 2, -2, 2);
  const auto value = uniform<4>({1, 200, 2, 6}, 3);
  const auto d_context = uniform<4>({1, 200, 4, 6}, 4);
  const AttentionOptions options = {.mask = causal(), .offsets = kOffsets};
  const auto all =
      gradient_attention({query, key, value}, d_context, options).value();
  const auto map =
      gradient_attention_map({query, key, value}, d_context, options).value();
  ASSERT_EQ(map.extents(), (Extents<4>{4, 4, 64, 64}));
  for (std::size_t s = 0; s + 1 < kOffsets.size(); ++s) {
    const auto first = static_cast<std::size_t>(kOffsets[s]);
    const AttentionInputsOf<float> its = {
        sequence_of(query, s), sequence_of(key, s), sequence_of(value, s)};
    const auto one =
        gradient_attention(its, sequence_of(d_context, s), {.mask = causal()})
            .value();
    const auto its_map = gradient_attention_map(its, sequence_of(d_context, s),
                                                {.mask = causal()})
                             .value();
    const std::size_t cells = its_map.extent(3);
    for (std::size_t h = 0; h < 4; ++h) {
      EXPECT_EQ(all.totals(s, h), one.totals(0, h));
      for (std::size_t j = 0; j < one.columns.extent(2); ++j) {
        ASSERT_EQ(all.columns(0, h, first + j), one.columns(0, h, j));
      }
      for (std::size_t cell = 0; cell < 64 * 64; ++cell) {
        const std::size_t r = cell / 64;
        const std::size_t k = cell % 64;
        ASSERT_EQ(map(s, h, r, k),
                  r < cells && k < cells ? its_map(0, h, r, k) : 0);
      }
    }
  }
}

TEST(GradientAttentionBitsTest, RefuseWhatDoesNotFit) {
  const auto heads = plain_batch({6}, 6, 2, 8, 4);
  const auto few = uniform<4>({1, 6, 1, 8}, 1);
  const auto d_context = uniform<4>({1, 6, 2, 4}, 7);
  const auto wide = uniform<4>({1, 6, 2, 5}, 7);
  EXPECT_THAT(gradient_attention({heads.query, heads.key, heads.value}, wide),
              IsError(ErrorCode::shape_mismatch, "d_context"));
  EXPECT_THAT(gradient_attention({heads.query, few, heads.value}, d_context),
              IsError(ErrorCode::shape_mismatch, "value"));
  EXPECT_THAT(
      gradient_attention({heads.query, heads.key, heads.value}, d_context, {},
                         {.added_keys = {.zero_attn = true}}),
      IsError(ErrorCode::unsupported, "added_keys"));
}

TEST(GradientAttentionBitsTest, RefuseRaggedKeysOfBatchedQueries) {
  const auto query = uniform<4>({1, 4, 3, 8}, 1);
  const auto key = uniform<4>({1, 7, 3, 8}, 2);
  const auto value = uniform<4>({1, 7, 3, 6}, 3);
  const auto d_context = uniform<4>({1, 4, 3, 6}, 4);
  const std::vector<std::int64_t> of_queries = {0, 2, 4};
  const std::vector<std::int64_t> of_keys = {0, 3, 7};
  const AttentionOptions options = {
      .offsets = Offsets::with_batched_queries(of_queries, of_keys)};
  EXPECT_THAT(gradient_attention({query, key, value}, d_context, options),
              IsError(ErrorCode::unsupported, "offsets"));
  EXPECT_THAT(gradient_attention_map({query, key, value}, d_context, options),
              IsError(ErrorCode::unsupported, "offsets"));
}

}  // namespace
}  // namespace headwise::testing_support
