#include "headwise/steps/dropout.h"

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "headwise/steps/softmax.h"
#include "steps/dropout_tile.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/targets.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

class DropoutWordsTest : public TargetTest {};

const AttentionShape kShape{.B = 3, .Hq = 4, .Hkv = 2, .Lq = 5, .Lkv = 21};

BoundDropout bound(const Dropout& dropout, const AttentionShape& shape = kShape,
                   const QueryStart& start = {}) {
  return BoundDropout::bind(dropout, {shape, start, "test"}).value();
}

// The generator as docs/arithmetic.md has it.
bool kept_by_formula(const Dropout& dropout, std::uint32_t sequence_id,
                     std::uint32_t h, std::uint32_t position, std::uint32_t j) {
  const auto low = [](std::uint64_t x) {
    return static_cast<std::uint32_t>(x & 0xffffffffu);
  };
  const auto high = [](std::uint64_t x) {
    return static_cast<std::uint32_t>(x >> 32);
  };
  const PhiloxCounter key =
      philox4x32({low(*dropout.step), high(*dropout.step), dropout.layer, 0},
                 {low(dropout.seed.value), high(dropout.seed.value)});
  const PhiloxCounter words =
      philox4x32({sequence_id, h, position, j / 4}, {key[0], key[1]});
  return double{1} * words[j % 4] >= std::floor(*dropout.p * 4294967296.0);
}

// (p, step, layer) away from every default.
Dropout training_dropout(double p) {
  return {.p = p,
          .training = true,
          .seed = Seed{0x0123456789abcdef},
          .step = 0x1122334455667788,
          .layer = 6};
}

std::string kept_row(const BoundDropout& dropout, std::size_t b, std::size_t h,
                     std::size_t i, std::size_t keys) {
  std::string row;
  for (std::size_t j = 0; j < keys; ++j) {
    row += dropout.keeps(b, h, i, j) ? 'x' : '.';
  }
  return row;
}

// Computed from the description by another program.
TEST(DropoutTest, TheKeptWeightsOfASeedNeverChange) {
  const Dropout dropout = training_dropout(0.3);
  EXPECT_EQ(kept_row(bound(dropout), 0, 0, 0, 20), "x.xxxxx.xxx.xxxx.xxx");

  Dropout moved = dropout;
  const auto ids = tensor_of<std::int64_t, 1>({3}, {3, 4294967295, 4294967295});
  moved.sequence_ids = ids;
  EXPECT_EQ(kept_row(bound(moved, kShape, 1), 0, 1, 4, 20),
            ".xxxxxxx.xx.x.x...xx");
  EXPECT_EQ(kept_row(bound(moved, kShape, -3), 1, 2, 1, 20),
            "xx.xxxxxx.x.x.xx.xx.");
}

TEST(DropoutTest, AWeightIsKeptExactlyWhereTheGeneratorSaysSo) {
  for (const double p : {0.1, 0.5, 0.9}) {
    const Dropout dropout = training_dropout(p);
    for (const std::int64_t start : {0, 7, -2}) {
      const BoundDropout drops = bound(dropout, kShape, start);
      for (std::size_t b = 0; b < kShape.B; ++b) {
        for (std::size_t h = 0; h < kShape.Hq; ++h) {
          for (std::size_t i = 0; i < kShape.Lq; ++i) {
            for (std::size_t j = 0; j < kShape.Lkv; ++j) {
              const auto word = [](std::int64_t x) {
                return static_cast<std::uint32_t>(x);
              };
              ASSERT_EQ(
                  drops.keeps(b, h, i, j),
                  kept_by_formula(dropout, static_cast<std::uint32_t>(b),
                                  static_cast<std::uint32_t>(h),
                                  word(static_cast<std::int64_t>(i) + start),
                                  static_cast<std::uint32_t>(j)))
                  << p << " " << start << " " << b << h << i << j;
            }
          }
        }
      }
    }
  }
}

TEST(DropoutTest, EveryPartOfTheKeyChangesWhatIsKept) {
  const Dropout base = training_dropout(0.5);
  const std::string want = kept_row(bound(base), 0, 0, 0, 21);
  Dropout seed_low = base;
  seed_low.seed.value ^= 1;
  Dropout seed_high = base;
  seed_high.seed.value ^= std::uint64_t{1} << 40;
  Dropout step_low = base;
  *step_low.step ^= 1;
  Dropout step_high = base;
  *step_high.step ^= std::uint64_t{1} << 40;
  Dropout layer = base;
  layer.layer ^= 1;
  for (const Dropout& other :
       {seed_low, seed_high, step_low, step_high, layer}) {
    EXPECT_NE(kept_row(bound(other), 0, 0, 0, 21), want);
  }
}

double share_kept(const BoundDropout& dropout, const AttentionShape& shape) {
  std::size_t kept = 0;
  for (std::size_t b = 0; b < shape.B; ++b) {
    for (std::size_t h = 0; h < shape.Hq; ++h) {
      for (std::size_t i = 0; i < shape.Lq; ++i) {
        for (std::size_t j = 0; j < shape.Lkv; ++j) {
          kept += dropout.keeps(b, h, i, j);
        }
      }
    }
  }
  return static_cast<double>(kept) /
         static_cast<double>(shape.B * shape.Hq * shape.Lq * shape.Lkv);
}

TEST(DropoutTest, TheShareThatIsKeptIsOneMinusP) {
  const AttentionShape shape{
      .B = 4, .Hq = 5, .Hkv = 5, .Lq = 50, .Lkv = 100};  // 1e5 weights
  for (const double p : {0.01, 0.1, 0.25, 0.5, 0.8}) {
    const double deviation = std::sqrt(p * (1 - p) / 1e5);
    EXPECT_NEAR(share_kept(bound(training_dropout(p), shape), shape), 1 - p,
                4 * deviation);
  }
}

TEST(DropoutTest, NeighboursAreKeptIndependently) {
  const AttentionShape shape{.B = 8, .Hq = 8, .Hkv = 8, .Lq = 20, .Lkv = 40};
  const BoundDropout dropout = bound(training_dropout(0.5), shape);
  std::size_t equal[4] = {};
  std::size_t pairs = 0;
  for (std::size_t b = 0; b + 1 < shape.B; ++b) {
    for (std::size_t h = 0; h + 1 < shape.Hq; ++h) {
      for (std::size_t i = 0; i + 1 < shape.Lq; ++i) {
        for (std::size_t j = 0; j + 1 < shape.Lkv; ++j) {
          const bool kept = dropout.keeps(b, h, i, j);
          equal[0] += kept == dropout.keeps(b + 1, h, i, j);
          equal[1] += kept == dropout.keeps(b, h + 1, i, j);
          equal[2] += kept == dropout.keeps(b, h, i + 1, j);
          equal[3] += kept == dropout.keeps(b, h, i, j + 1);
          ++pairs;
        }
      }
    }
  }
  const double n = static_cast<double>(pairs);
  for (const std::size_t each : equal) {
    EXPECT_NEAR(static_cast<double>(each) / n, 0.5, 2 / std::sqrt(n));
  }
}

TEST(DropoutTest, ASequenceThatKeepsItsIdKeepsItsBitsWhereverItStands) {
  Dropout dropout = training_dropout(0.5);
  const BoundDropout in_order = bound(dropout);
  const auto ids = tensor_of<std::int64_t, 1>({3}, {2, 7, 1});
  dropout.sequence_ids = ids;
  const BoundDropout moved = bound(dropout);
  for (std::size_t h = 0; h < kShape.Hq; ++h) {
    for (std::size_t i = 0; i < kShape.Lq; ++i) {
      EXPECT_EQ(kept_row(moved, 0, h, i, 21), kept_row(in_order, 2, h, i, 21));
      EXPECT_EQ(kept_row(moved, 2, h, i, 21), kept_row(in_order, 1, h, i, 21));
      EXPECT_NE(kept_row(moved, 1, h, i, 21), kept_row(in_order, 1, h, i, 21));
    }
  }
}

TEST(DropoutTest, AQueryKeepsItsBitsInAChunkThatStartsLater) {
  const Dropout dropout = training_dropout(0.5);
  const BoundDropout whole = bound(dropout);
  const BoundDropout chunk = bound(dropout, kShape, 3);
  EXPECT_EQ(kept_row(chunk, 1, 2, 0, 21), kept_row(whole, 1, 2, 3, 21));
  EXPECT_EQ(kept_row(chunk, 1, 2, 1, 21), kept_row(whole, 1, 2, 4, 21));
}

// Tiles that begin and end anywhere, on every instruction set.
TEST_P(DropoutWordsTest, SayOfATileWhatKeepsSaysOfEachWeight) {
  const AttentionShape shape{.B = 2, .Hq = 3, .Hkv = 3, .Lq = 64, .Lkv = 200};
  Dropout generated = training_dropout(0.3);
  const auto ids = tensor_of<std::int64_t, 1>({2}, {4294967295, 12});
  generated.sequence_ids = ids;
  Dropout all = training_dropout(1);
  const auto mask = coin_tosses<4>({2, 3, 64, 200}, 1);
  const Dropout given{.p = 0.5, .keep_mask = mask};
  for (const Dropout& one : {generated, all, given}) {
    for (const std::int64_t start : {0, -5}) {
      const BoundDropout dropout = bound(one, shape, start);
      for (const Tile& tile :
           {Tile{0, 0, 0, 48, 0, 128}, Tile{1, 2, 5, 1, 3, 1},
            Tile{1, 1, 17, 33, 66, 127}, Tile{0, 2, 0, 64, 199, 1}}) {
        std::vector<std::uint64_t> words(tile.keys, 42);
        fill_words(dropout, tile, words);
        for (std::size_t n = 0; n < tile.queries; ++n) {
          for (std::size_t k = 0; k < tile.keys; ++k) {
            ASSERT_EQ((words[k] >> n & 1) != 0,
                      dropout.keeps(tile.b, tile.h, tile.first_query + n,
                                    tile.first_key + k))
                << n << " " << k;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, DropoutWordsTest,
                         testing::ValuesIn(targets()), target_name);

TEST(DropoutTest, TheKeepMaskCanBeWrittenOutAndGivenBack) {
  const Dropout dropout = training_dropout(0.4);
  const BoundDropout drawn = bound(dropout);
  const auto mask = drawn.materialize().value();
  const BoundDropout given = bound({.p = 0.4, .keep_mask = view_of(mask)});
  EXPECT_EQ(mask.extents(), (Extents<4>{3, 4, 5, 21}));
  for (std::size_t n = 0; n < mask.size(); ++n) {
    const std::size_t b = n / 21 / 5 / 4;
    EXPECT_EQ(mask.data()[n],
              drawn.keeps(b, n / 21 / 5 % 4, n / 21 % 5, n % 21));
    EXPECT_EQ(mask.data()[n],
              given.keeps(b, n / 21 / 5 % 4, n / 21 % 5, n % 21));
  }
}

TEST(DropoutTest, NothingIsDroppedOutsideTrainingOrWithPZero) {
  EXPECT_FALSE(bound({}).active());
  EXPECT_FALSE(bound({.p = 0.5}).active());
  EXPECT_FALSE(bound({.p = 0.0, .training = true}).active());
  EXPECT_FALSE(bound({.training = true}).active());
  EXPECT_TRUE(bound({.p = 0.5, .training = true}).active());
}

TEST(DropoutTest, PZeroKeepsAllAndPOneKeepsNone) {
  EXPECT_EQ(share_kept(bound(training_dropout(0)), kShape), 1);
  EXPECT_EQ(share_kept(bound(training_dropout(1)), kShape), 0);
}

TEST(DropoutTest, AKeptWeightGrowsByOneByOneMinusPRoundedOnce) {
  EXPECT_EQ(bound(training_dropout(0.5)).factor(), 2);
  EXPECT_EQ(bound(training_dropout(0.1)).factor(), 1 / (1 - 0.1));
  const auto attn_weights = uniform<4>({3, 4, 5, 21}, 1, 0, 1);
  for (const double p : {0.1, 0.5, 0.7}) {
    const BoundDropout dropout = bound(training_dropout(p));
    const auto factor = static_cast<float>(1 / (1 - p));
    auto dropped = filled<float, 4>({3, 4, 5, 21}, 42);
    EXPECT_TRUE(apply_dropout(attn_weights, dropout, dropped));
    for (std::size_t b = 0; b < 3; ++b) {
      for (std::size_t h = 0; h < 4; ++h) {
        for (std::size_t i = 0; i < 5; ++i) {
          for (std::size_t j = 0; j < 21; ++j) {
            const float want = dropout.keeps(b, h, i, j)
                                   ? attn_weights(b, h, i, j) * factor
                                   : 0.0f;
            ASSERT_EQ(bits(dropped(b, h, i, j)), bits(want));
          }
        }
      }
    }
  }
}

TEST(DropoutTest, POneGivesZerosNotNaN) {
  auto attn_weights = uniform<4>({3, 4, 5, 21}, 1, 0, 1);
  auto dropped = filled<float, 4>({3, 4, 5, 21}, 42);
  EXPECT_TRUE(apply_dropout(attn_weights, bound(training_dropout(1)), dropped));
  EXPECT_THAT(dropped.elements(), Each(0.0f));
}

TEST(DropoutTest, AKeptNaNIsTheOneNaNAndADroppedOneIsZero) {
  const auto attn_weights = filled<float, 4>(
      {3, 4, 5, 21}, std::bit_cast<float>(std::uint32_t{0xffc12345}));
  const BoundDropout dropout = bound(training_dropout(0.5));
  auto dropped = filled<float, 4>({3, 4, 5, 21}, 42);
  EXPECT_TRUE(apply_dropout(attn_weights, dropout, dropped));
  for (std::size_t j = 0; j < 21; ++j) {
    EXPECT_EQ(bits(dropped(0, 0, 0, j)),
              dropout.keeps(0, 0, 0, j) ? kNaNBits : 0u);
  }
}

TEST(DropoutTest, AKeepMaskTakesTheGeneratorsPlaceAlsoOutsideTraining) {
  const auto keep = coin_tosses<4>({3, 4, 5, 21}, 9, 0.75);
  const BoundDropout dropout = bound({.p = 0.25, .keep_mask = keep});
  EXPECT_TRUE(dropout.active());
  EXPECT_EQ(dropout.factor(), 1 / 0.75);
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 21; ++j) {
      EXPECT_EQ(dropout.keeps(2, 3, i, j), keep(2, 3, i, j));
    }
  }
  // Without p it drops and scales nothing.
  EXPECT_EQ(bound({.keep_mask = keep}).factor(), 1);
}

TEST(DropoutErrorsTest, PMustBeAProbability) {
  for (const auto& [p, text] : {std::pair(-0.5, "-0.5"), std::pair(1.5, "1.5"),
                                std::pair(std::nan(""), "nan")}) {
    const auto result = BoundDropout::bind({.p = p}, {kShape, {}, "attention"});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(result.error().message(),
              std::string("attention: dropout.p is ") + text +
                  ", expected a number from 0 to 1");
  }
}

TEST(DropoutErrorsTest, SequenceIdsMustBeOneASequenceOf32Bits) {
  const auto two = tensor_of<std::int64_t, 1>({2}, {0, 1});
  const auto wrong_size =
      BoundDropout::bind({.sequence_ids = two}, {kShape, {}, "attention"});
  ASSERT_FALSE(wrong_size);
  EXPECT_EQ(wrong_size.error().code(), ErrorCode::shape_mismatch);
  EXPECT_THAT(wrong_size, IsAbout("dropout.sequence_ids", "(2)", "(3)"));
  for (const auto& [id, text] :
       {std::pair(std::int64_t{-1}, "-1"),
        std::pair(std::int64_t{1} << 32, "4294967296")}) {
    const auto ids = tensor_of<std::int64_t, 1>({3}, {0, id, 1});
    const auto result =
        BoundDropout::bind({.sequence_ids = ids}, {kShape, {}, "attention"});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::out_of_range);
    EXPECT_EQ(result.error().message(),
              std::string("attention: dropout.sequence_ids[1] is ") + text +
                  ", expected 0 to 2^32 - 1");
  }
}

TEST(DropoutErrorsTest, AKeepMaskMustHaveOneBooleanAWeight) {
  const auto keep = filled<bool, 4>({3, 1, 5, 21}, true);
  const auto result =
      BoundDropout::bind({.keep_mask = keep}, {kShape, {}, "attention"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::shape_mismatch);
  EXPECT_THAT(result,
              IsAbout("dropout.keep_mask", "(3, 1, 5, 21)", "(3, 4, 5, 21)"));
}

}  // namespace
}  // namespace headwise::testing_support
