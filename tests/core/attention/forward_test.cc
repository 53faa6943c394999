#include "headwise/attention/forward.h"

#include <cmath>

#include "attention/attention_call.h"
#include "headwise/steps/heads.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

TEST(AttentionTest, MatchesTheReferenceInBinary64) {
  for (const AttentionShape& shape : kShapes) {
    const Inputs<float> in = random_inputs(shape, 110);
    const EveryMask every_mask(shape, true);
    for (const auto& [name, options, operation_options] :
         every_options(every_mask)) {
      SCOPED_TRACE(name);
      const Outputs<float> got = attend(in, options, operation_options);
      const Outputs<double> want =
          reference(widened(in), options, operation_options);
      EXPECT_TRUE(all_near(got.output, want.output, 8e-6));
      EXPECT_TRUE(all_near(got.attn_weights, want.attn_weights, 4e-6));
      EXPECT_TRUE(all_near(got.lse, want.lse, 4e-6));
      EXPECT_TRUE(all_near(got.scores, want.scores, 4e-6, 1e-6));
    }
  }
}

// ---- Sinks. ----

TEST(SinkTest, TakesItsShareOfWhatARowHasWithoutIt) {
  const Inputs<float> in = random_inputs(kSmall, 260);
  const auto sinks = tensor_of<float, 1>({4}, {0.5f, -20, 3, kMinusInf});
  AttentionOptions options = {.attn_weights = AttnWeights::per_head};
  const Outputs<float> without = attend(in, options);
  options.sinks = sinks;
  const Outputs<float> with = attend(in, options);
  const auto [B, Lq, H, Dv] = with.output.extents();
  for (std::size_t row = 0; row < B * H * Lq; ++row) {
    const std::size_t b = row / Lq / H;
    const std::size_t h = row / Lq % H;
    const std::size_t i = row % Lq;
    const double lse = without.lse(b, h, i);
    const double left = 1 / (1 + std::exp(double{sinks(h)} - lse));
    EXPECT_NEAR(with.lse(b, h, i), lse - std::log(left), 2e-6);
    for (std::size_t c = 0; c < Dv; ++c) {
      EXPECT_NEAR(with.output(b, i, h, c), without.output(b, i, h, c) * left,
                  2e-6);
    }
    for (std::size_t j = 0; j < kSmall.Lkv; ++j) {
      EXPECT_NEAR(with.attn_weights(b, h, i, j),
                  without.attn_weights(b, h, i, j) * left, 1e-6);
    }
  }
}

TEST(SinkTest, OfMinusInfinityIsNone) {
  const Inputs<float> in = random_inputs(kSmall, 261);
  const auto sinks = filled<float, 1>({4}, kMinusInf);
  for (const EmptyRow empty_rows :
       {EmptyRow::zero, EmptyRow::uniform, EmptyRow::nan}) {
    AttentionOptions options = {.mask = causal(),
                                .query_start = -2,
                                .empty_rows = empty_rows,
                                .attn_weights = AttnWeights::per_head};
    const Outputs<float> without = attend(in, options);
    options.sinks = sinks;
    EXPECT_TRUE(same_bits(attend(in, options), without));
  }
}

TEST(SinkTest, LeavesARowWithoutAKeyZeroUnderEveryRule) {
  const Inputs<float> in = random_inputs(kSmall, 262);
  const auto sinks = tensor_of<float, 1>({4}, {0, 1.5f, -2e38f, 2e38f});
  for (const EmptyRow empty_rows :
       {EmptyRow::zero, EmptyRow::uniform, EmptyRow::nan}) {
    // No query sees a key.
    const Outputs<float> out = attend(in, {.mask = causal(),
                                           .sinks = sinks,
                                           .query_start = -9,
                                           .empty_rows = empty_rows,
                                           .attn_weights = AttnWeights::mean});
    EXPECT_THAT(out.output.elements(), Each(0.0f));
    EXPECT_THAT(out.attn_weights.elements(), Each(0.0f));
    for (std::size_t h = 0; h < 4; ++h) {
      EXPECT_FLOAT_EQ(out.lse(1, h, 2), sinks(h));
    }
  }
}

// ---- Added keys. ----

// The call with the added keys among its own: the last keys of each sequence.
Inputs<float> with_added(const Inputs<float>& in, const AddedKeys& added) {
  const std::size_t B = in.key.extent(0);
  const std::size_t Lkv = in.key.extent(1);
  const std::size_t Hkv = in.key.extent(2);
  const std::size_t all = Lkv + count_of(added);
  Inputs<float> more = clone(in);
  const auto append = [&](const Tensor<float, 4>& from,
                          TensorView<const float, 2> learned) {
    auto to = Tensor<float, 4>::create({B, all, Hkv, from.extent(3)}).value();
    for (std::size_t b = 0; b < B; ++b) {
      for (std::size_t g = 0; g < Hkv; ++g) {
        for (std::size_t c = 0; c < from.extent(3); ++c) {
          for (std::size_t j = 0; j < all; ++j) {
            to(b, j, g, c) = j < Lkv ? from(b, j, g, c)
                             : j == Lkv && learned.data() != nullptr
                                 ? learned(g, c)
                                 : 0;
          }
        }
      }
    }
    return to;
  };
  more.key = append(in.key, added.bias_k);
  more.value = append(in.value, added.bias_v);
  return more;
}

TEST(AddedKeysTest, AreTheLastKeysOfEverySequence) {
  const Inputs<float> in = random_inputs(kSmall, 270);
  const EveryBias every(kSmall);
  for (const AddedKeys& added :
       {every.added_keys(false), every.added_keys(true),
        AddedKeys{.zero_attn = true}}) {
    for (const AttnWeights form : {AttnWeights::per_head, AttnWeights::mean}) {
      const AttentionOptions options = {.softcap = 3, .attn_weights = form};
      const Outputs<float> got = attend(in, options, {.added_keys = added});
      const Outputs<float> want = attend(with_added(in, added), options);
      EXPECT_TRUE(all_near(got.output, widened(want.output), 2e-6));
      EXPECT_TRUE(all_near(got.attn_weights, widened(want.attn_weights), 2e-6));
      EXPECT_TRUE(all_near(got.lse, widened(want.lse), 2e-6));
    }
  }
}

// Whatever hides every other key: no row is empty, whatever its rule.
TEST(AddedKeysTest, AreSeenByEveryQuery) {
  const Inputs<float> in = random_inputs(kSmall, 271);
  const EveryBias every(kSmall);
  for (const EmptyRow empty_rows :
       {EmptyRow::zero, EmptyRow::uniform, EmptyRow::nan}) {
    const Outputs<float> out = attend(in,
                                      {.mask = causal(),
                                       .query_start = -9,
                                       .empty_rows = empty_rows,
                                       .attn_weights = AttnWeights::per_head},
                                      {.added_keys = every.added_keys(false)});
    for (std::size_t h = 0; h < kSmall.Hq; ++h) {
      EXPECT_EQ(out.attn_weights(1, h, 2, 0), 0);
      EXPECT_EQ(out.attn_weights(1, h, 2, kSmall.Lkv), 1);
      for (std::size_t c = 0; c < kSmall.Dv; ++c) {
        EXPECT_EQ(out.output(1, 2, h, c),
                  every.added_keys(false).bias_v(h / 2, c));
      }
    }
  }
}

TEST(AddedKeysTest, HaveColumnsInAKeepMask) {
  const Inputs<float> in = random_inputs(kSmall, 272);
  const EveryBias every(kSmall);
  AttentionOptions options = {
      .dropout = {.p = 0.4, .training = true, .seed = Seed{3}},
      .attn_weights = AttnWeights::after_dropout};
  for (const AddedKeys& added :
       {every.added_keys(false), every.added_keys(true),
        AddedKeys{.zero_attn = true}}) {
    const OperationOptions operation = {.added_keys = added};
    const Outputs<float> want = attend(in, options, operation);
    const auto keep = AttentionSpec::create(kSmall, options, operation)
                          ->dropout.materialize()
                          .value();
    ASSERT_EQ(keep.extent(3), kSmall.Lkv + count_of(added));
    AttentionOptions given = options;
    given.dropout = {.p = 0.4, .keep_mask = keep.view()};
    EXPECT_TRUE(same_bits(attend(in, given, operation), want));
  }
}

// ---- Rows without a key. ----

TEST(EmptyRowTest, GivesWhatItsRuleSaysAndALogSumExpOfMinusInfinity) {
  const Inputs<float> in = random_inputs(kSmall, 270);
  // Query i stands at i - 2: the first two see nothing.
  AttentionOptions options = {.mask = causal(),
                              .query_start = -2,
                              .attn_weights = AttnWeights::per_head};
  const Outputs<float> zero = attend(in, options);
  options.empty_rows = EmptyRow::uniform;
  const Outputs<float> uniform_rows = attend(in, options);
  options.empty_rows = EmptyRow::nan;
  const Outputs<float> nan = attend(in, options);
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t h = 0; h < 4; ++h) {
        const bool empty = i < 2;
        EXPECT_EQ(zero.lse(b, h, i) == kMinusInf, empty);
        EXPECT_EQ(bits(uniform_rows.lse(b, h, i)), bits(zero.lse(b, h, i)));
        EXPECT_EQ(bits(nan.lse(b, h, i)), bits(zero.lse(b, h, i)));
        for (std::size_t d = 0; d < 6; ++d) {
          double mean = 0;
          for (std::size_t j = 0; j < 7; ++j) {
            mean += in.value(b, j, h / 2, d) / 7.0;
          }
          const float of_zero = zero.output(b, i, h, d);
          EXPECT_EQ(bits(nan.output(b, i, h, d)),
                    empty ? kNaNBits : bits(of_zero));
          if (empty) {
            EXPECT_EQ(bits(of_zero), 0u);
            EXPECT_NEAR(uniform_rows.output(b, i, h, d), mean, 1e-6);
          } else {
            EXPECT_EQ(bits(uniform_rows.output(b, i, h, d)), bits(of_zero));
          }
        }
        for (std::size_t j = 0; j < 7 && empty; ++j) {
          EXPECT_EQ(bits(zero.attn_weights(b, h, i, j)), 0u);
          EXPECT_EQ(uniform_rows.attn_weights(b, h, i, j), 1 / 7.0f);
          EXPECT_EQ(bits(nan.attn_weights(b, h, i, j)), kNaNBits);
        }
      }
    }
  }
}

// ---- Returned scores. ----

// Blocks of keys that no query sees, and one that some do.
const AttentionShape kBlocks = {
    .B = 1, .Hq = 4, .Hkv = 2, .Lq = 60, .Lkv = 700, .D = 9, .Dv = 5};

TEST(ReturnedScoresTest, AreThoseOfTheSteps) {
  const Inputs<float> in = random_inputs(kBlocks, 295);
  const EveryMask every_mask(kBlocks, true);
  const EveryBias& biases = every_mask.biases();
  AttentionOptions options = {.mask = window(20, 3),
                              .softcap = 1.5,
                              .bias = biases.biases().front().second,
                              .t5_bias = biases.t5_bias(true),
                              .alibi = biases.slopes(),
                              .query_start = 300,
                              .attn_weights = AttnWeights::per_head};
  const AttentionSteps steps = stepwise(in, options);
  for (const auto& [stage, want] :
       {std::pair(ScoresStage::raw, &steps.scores),
        {ScoresStage::softcap, &steps.capped_scores},
        {ScoresStage::bias, &steps.masked_scores},
        {ScoresStage::softmax, &steps.attn_weights}}) {
    options.scores = stage;
    EXPECT_TRUE(all_near(attend(in, options).scores, *want, 4e-6, 1e-6));
  }
}

TEST(ReturnedScoresTest, OfTheSoftmaxAreTheWeightsBeforeDropout) {
  const Inputs<float> in = random_inputs(kBlocks, 296);
  AttentionOptions options = {
      .mask = window(20, 3),
      .query_start = -30,
      .empty_rows = EmptyRow::uniform,
      .dropout = {.p = 0.5, .training = true, .seed = Seed{8}},
      .attn_weights = AttnWeights::per_head,
      .scores = ScoresStage::softmax};
  const Outputs<float> want = attend(in, options);
  EXPECT_TRUE(same_bits(want.scores, want.attn_weights));
  for (const AttnWeights form :
       {AttnWeights::none, AttnWeights::mean, AttnWeights::after_dropout}) {
    options.attn_weights = form;
    EXPECT_TRUE(same_bits(attend(in, options).scores, want.attn_weights));
  }
}

TEST(ReturnedScoresTest, OfMaskedKeysAreReadBeforeTheMaskOnly) {
  Inputs<float> in = random_inputs(kBlocks, 297);
  AttentionOptions options = {.mask = window(20, 3), .query_start = 300};
  const Outputs<float> clean = attend(in, options);
  std::fill_n(&in.key(0, 17, 1, 0), kBlocks.D, kNaN);
  for (const ScoresStage stage : {ScoresStage::raw, ScoresStage::bias}) {
    options.scores = stage;
    const Outputs<float> got = attend(in, options);
    EXPECT_TRUE(same_bits(got.output, clean.output));
    for (std::size_t i = 0; i < kBlocks.Lq; ++i) {
      EXPECT_EQ(bits(got.scores(0, 2, i, 17)),
                stage == ScoresStage::raw ? kNaNBits : bits(kMinusInf));
      EXPECT_FALSE(std::isnan(got.scores(0, 0, i, 17)));
      EXPECT_FALSE(std::isnan(got.scores(0, 2, i, 18)));
    }
  }
}

// ---- Returned weights. ----

TEST(AttnWeightsTest, TheMeanIsThatOfTheHeadsBeforeDropout) {
  const Inputs<float> in = random_inputs(kSmall, 280);
  AttentionOptions options = {.mask = causal(),
                              .dropout = {.p = 0.5, .training = true},
                              .attn_weights = AttnWeights::per_head};
  const Outputs<float> per_head = attend(in, options);
  options.attn_weights = AttnWeights::mean;
  const Outputs<float> mean = attend(in, options);
  auto want = Tensor<float, 4>::create({2, 1, 5, 7}).value();
  EXPECT_TRUE(average_heads(per_head.attn_weights, want));
  EXPECT_TRUE(same_bits(mean.attn_weights, want));
}

TEST(AttnWeightsTest, AfterDropoutTheyAreThoseThatWeighTheValues) {
  const Inputs<float> in = random_inputs(kSmall, 290);
  AttentionOptions options = {
      .dropout = {.p = 0.5, .training = true, .seed = Seed{8}},
      .attn_weights = AttnWeights::per_head};
  const Outputs<float> before = attend(in, options);
  options.attn_weights = AttnWeights::after_dropout;
  const Outputs<float> after = attend(in, options);
  const auto dropout =
      BoundDropout::bind(options.dropout, {kSmall, {}, "test"}).value();
  auto dropped = Tensor<float, 4>::create({2, 4, 5, 7}).value();
  EXPECT_TRUE(apply_dropout(before.attn_weights, dropout, dropped));
  EXPECT_TRUE(same_bits(after.attn_weights, dropped));
  EXPECT_TRUE(same_bits(after.output, before.output));
  for (std::size_t i = 0; i < 5; ++i) {
    double context = 0;
    for (std::size_t j = 0; j < 7; ++j) {
      context += double{dropped(1, 3, i, j)} * double{in.value(1, j, 1, 2)};
    }
    EXPECT_NEAR(after.output(1, i, 3, 2), context, 2e-6);
  }
}

TEST(AttnWeightsTest, DropoutThatDropsEverythingGivesZeros) {
  const Inputs<float> in = random_inputs(kSmall, 300);
  const Outputs<float> out =
      attend(in, {.dropout = {.p = 1.0, .training = true},
                  .attn_weights = AttnWeights::after_dropout});
  EXPECT_THAT(out.output.elements(), Each(0.0f));
  EXPECT_THAT(out.attn_weights.elements(), Each(0.0f));
}

TEST(AttnWeightsTest, DropoutOutsideTrainingChangesNoBit) {
  const Inputs<float> in = random_inputs(kSmall, 310);
  EXPECT_TRUE(same_bits(attend(in, {.dropout = {.p = 0.5}}), attend(in)));
}

// ---- Sizes of zero. ----

TEST(ZeroSizeTest, NoSequencesAndNoQueriesAreLegal) {
  AttentionShape none = kSmall;
  none.B = 0;
  AttentionShape no_queries = kSmall;
  no_queries.Lq = 0;
  for (const AttentionShape& shape : {none, no_queries}) {
    const Inputs<float> in = random_inputs(shape, 320);
    for (const AttnWeights form :
         {AttnWeights::none, AttnWeights::per_head, AttnWeights::mean}) {
      EXPECT_EQ(
          attend(in, {.mask = causal(), .attn_weights = form}).output.size(),
          0u);
    }
  }
}

TEST(ZeroSizeTest, WithoutKeysEveryRowIsEmpty) {
  AttentionShape shape = kSmall;
  shape.Lkv = 0;
  const Inputs<float> in = random_inputs(shape, 330);
  for (const EmptyRow empty_rows :
       {EmptyRow::zero, EmptyRow::uniform, EmptyRow::nan}) {
    const Outputs<float> out = attend(
        in, {.empty_rows = empty_rows, .attn_weights = AttnWeights::per_head});
    EXPECT_THAT(out.lse.elements(), Each(kMinusInf));
    for (const float x : out.output.elements()) {
      EXPECT_EQ(bits(x), empty_rows == EmptyRow::nan ? kNaNBits : 0u);
    }
  }
}

TEST(ZeroSizeTest, ScoresUpTo2e38AreLegal) {
  const Inputs<float> in = {
      tensor_of<float, 4>({1, 1, 1, 1}, {2e19f}),
      tensor_of<float, 4>({1, 3, 1, 1}, {1e19f, -1e19f, 1e19f}),
      tensor_of<float, 4>({1, 3, 1, 1}, {1, 100, 3})};
  EXPECT_EQ(attend(in, {.scale = 1}).output(0, 0, 0, 0), 2);
}

}  // namespace
}  // namespace headwise::testing_support
