// What the backward pass promises, for dot products and for additive scoring:
// the same bits however the work is split, masked means masked, gradients that
// are exactly 0 where nothing flows.

#include <algorithm>
#include <cmath>
#include <vector>

#include "attention/backward_call.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

// Around a block of keys and blocks of queries, grouped, and so few heads that
// several threads work at one.
const AttentionShape kFewHeads = {
    .B = 2, .Hq = 2, .Hkv = 1, .Lq = 149, .Lkv = 300, .D = 20, .Dv = 17};
// Enough heads for each thread to take whole ones.
const AttentionShape kManyHeads = {
    .B = 5, .Hq = 26, .Hkv = 13, .Lq = 50, .Lkv = 131, .D = 16, .Dv = 16};

Gradients<float> with_threads(const Inputs<float>& in,
                              const Upstream<float>& upstream,
                              AttentionOptions options,
                              const OperationOptions& scoring,
                              std::size_t threads) {
  const auto executor = Executor::with_threads(threads).value();
  options.executor = &executor;
  return differentiate(in, upstream, options, scoring);
}

enum class Scores { dot, additive };

class BackwardPromisesTest : public testing::TestWithParam<Scores> {
 protected:
  // The scoring that is asked for. Its tensor is kept until the next call.
  OperationOptions scoring_of(const AttentionShape& shape) {
    if (GetParam() == Scores::dot) {
      return {};
    }
    score_weight_ = uniform<2>({shape.Hq, shape.D}, 3490);
    return {.score_weight = score_weight_};
  }

 private:
  Tensor<float, 2> score_weight_;
};

TEST_P(BackwardPromisesTest, HasTheSameBitsForAnyNumberOfThreads) {
  for (const AttentionShape& shape : {kFewHeads, kManyHeads}) {
    const Inputs<float> in = random_inputs(shape, 3500);
    const EveryMask every(shape, true);
    const OperationOptions scoring = scoring_of(shape);
    const std::vector<AttentionOptions> cases = {
        {},
        {.mask = causal()},
        {.mask = every.masks().back().second,
         .bias = every.biases().biases()[2].second,
         .t5_bias = every.biases().t5_bias(true),
         .alibi = every.biases().slopes(),
         .sinks = every.biases().sinks(),
         .empty_rows = EmptyRow::uniform,
         .dropout = {.p = 0.3, .training = true},
         .attn_weights = AttnWeights::per_head}};
    for (const AttentionOptions& options : cases) {
      const Upstream<float> upstream = random_upstream(in, options, 3510);
      const Gradients<float> one =
          with_threads(in, upstream, options, scoring, 1);
      for (const std::size_t threads : {2u, 3u, 7u, 16u}) {
        EXPECT_TRUE(same_bits(
            with_threads(in, upstream, options, scoring, threads), one))
            << threads << " threads";
      }
    }
  }
}

TEST_P(BackwardPromisesTest, HasTheSameBitsUnderLoadAHundredTimes) {
  const Inputs<float> in = random_inputs(kFewHeads, 3520);
  const AttentionOptions options = {.mask = causal()};
  const OperationOptions scoring = scoring_of(kFewHeads);
  const Upstream<float> upstream = random_upstream(in, options, 3530);
  const Gradients<float> want = with_threads(in, upstream, options, scoring, 1);
  for (int n = 0; n < 100; ++n) {
    ASSERT_TRUE(
        same_bits(with_threads(in, upstream, options, scoring, 3), want));
  }
}

// Sequence b of the tensor, as a batch of one.
Tensor<float, 4> one_of(const Tensor<float, 4>& batch, std::size_t b) {
  const auto [B, L, H, D] = batch.extents();
  auto one = Tensor<float, 4>::create({1, L, H, D}).value();
  std::copy_n(&batch(b, 0, 0, 0), one.size(), one.data());
  return one;
}

TEST_P(BackwardPromisesTest, OfASequenceDoesNotDependOnItsBatch) {
  const Inputs<float> in = random_inputs(kFewHeads, 3540);
  const Upstream<float> upstream = random_upstream(in, {}, 3550);
  const auto ids = tensor_of<std::int64_t, 1>({2}, {8, 3});
  AttentionOptions options = {
      .mask = causal(),
      .dropout = {.p = 0.2, .training = true, .sequence_ids = ids}};
  const OperationOptions scoring = scoring_of(kFewHeads);
  const Gradients<float> all = differentiate(in, upstream, options, scoring);
  for (std::size_t b = 0; b < 2; ++b) {
    const auto id = tensor_of<std::int64_t, 1>({1}, {ids(b)});
    options.dropout.sequence_ids = id;
    const Gradients<float> alone = differentiate(
        {one_of(in.query, b), one_of(in.key, b), one_of(in.value, b)},
        {one_of(upstream.d_output, b), {}}, options, scoring);
    EXPECT_TRUE(same_bits(alone.query, one_of(all.query, b)));
    EXPECT_TRUE(same_bits(alone.key, one_of(all.key, b)));
    EXPECT_TRUE(same_bits(alone.value, one_of(all.value, b)));
  }
}

// The rows of `padded` that count, behind each other.
Tensor<float, 4> without_padding(const Tensor<float, 4>& padded,
                                 const std::vector<std::int64_t>& lengths) {
  const auto [B, L, H, D] = padded.extents();
  std::size_t rows = 0;
  for (const std::int64_t length : lengths) {
    rows += static_cast<std::size_t>(length);
  }
  auto ragged = Tensor<float, 4>::create({1, rows, H, D}).value();
  float* to = ragged.data();
  for (std::size_t b = 0; b < B; ++b) {
    const std::size_t size = static_cast<std::size_t>(lengths[b]) * H * D;
    to = std::copy_n(&padded(b, 0, 0, 0), size, to);
  }
  return ragged;
}

TEST_P(BackwardPromisesTest, OfARaggedBatchHasTheBitsOfThePaddedOne) {
  const AttentionShape shape = {
      .B = 4, .Hq = 4, .Hkv = 2, .Lq = 300, .Lkv = 300, .D = 9, .Dv = 8};
  const std::vector<std::int64_t> numbers = {300, 1, 0, 97};
  const auto lengths = tensor_of<std::int64_t, 1>({4}, numbers);
  const auto offsets = tensor_of<std::int64_t, 1>({5}, {0, 300, 301, 301, 398});
  const Inputs<float> in = random_inputs(shape, 3560);
  Upstream<float> upstream = random_upstream(in, {}, 3570);
  for (std::size_t b = 0; b < shape.B; ++b) {
    for (std::size_t i = static_cast<std::size_t>(numbers[b]); i < shape.Lq;
         ++i) {
      std::fill_n(&upstream.d_output(b, i, 0, 0), shape.Hq * shape.Dv, 0.0f);
    }
  }
  const Inputs<float> cut = {without_padding(in.query, numbers),
                             without_padding(in.key, numbers),
                             without_padding(in.value, numbers)};
  const Upstream<float> cut_upstream = {
      without_padding(upstream.d_output, numbers), {}};
  const EveryBias biases(shape);
  AttentionOptions options = {.mask = causal() & key_lengths(lengths),
                              .t5_bias = biases.t5_bias(false),
                              .alibi = biases.slopes(),
                              .sinks = biases.sinks()};
  const OperationOptions scoring = scoring_of(shape);
  const Gradients<float> padded = differentiate(in, upstream, options, scoring);
  options.mask = causal();
  options.offsets = offsets;
  const Gradients<float> ragged =
      differentiate(cut, cut_upstream, options, scoring);
  EXPECT_TRUE(same_bits(ragged.query, without_padding(padded.query, numbers)));
  EXPECT_TRUE(same_bits(ragged.key, without_padding(padded.key, numbers)));
  EXPECT_TRUE(same_bits(ragged.value, without_padding(padded.value, numbers)));
  EXPECT_TRUE(same_bits(ragged.t5_bias, padded.t5_bias));
  EXPECT_TRUE(same_bits(ragged.alibi, padded.alibi));
  EXPECT_TRUE(same_bits(ragged.sinks, padded.sinks));
  EXPECT_TRUE(same_bits(ragged.score_weight, padded.score_weight));
}

TEST_P(BackwardPromisesTest, OfNoUpstreamGradientIsZero) {
  const Inputs<float> in = random_inputs(kFewHeads, 3580);
  Upstream<float> upstream = random_upstream(in, {}, 3590);
  std::ranges::fill(upstream.d_output.elements(), 0.0f);
  const Gradients<float> got =
      differentiate(in, upstream, {.mask = causal()}, scoring_of(kFewHeads));
  EXPECT_THAT(got.query.elements(), Each(0.0f));
  EXPECT_THAT(got.key.elements(), Each(0.0f));
  EXPECT_THAT(got.value.elements(), Each(0.0f));
  EXPECT_THAT(got.score_weight.elements(), Each(0.0f));
}

void poison(Tensor<float, 4>& blhd, std::size_t b, std::size_t l,
            std::size_t h) {
  std::fill_n(&blhd(b, l, h, 0), blhd.extent(3), kNaN);
}

// Keys that nobody sees hold NaN: their gradients are 0 and all others have the
// bits that they have without.
TEST_P(BackwardPromisesTest, OfMaskedKeysIsZeroAndTheyReachNothing) {
  const AttentionShape shape = {
      .B = 2, .Hq = 4, .Hkv = 2, .Lq = 60, .Lkv = 140, .D = 5, .Dv = 6};
  const Inputs<float> clean = random_inputs(shape, 3600);
  const EveryMask every(shape, true);
  const OperationOptions scoring = scoring_of(shape);
  for (const auto& [name, mask] : every.masks()) {
    const AttentionOptions options = {
        .mask = mask, .softcap = 2.0, .attn_weights = AttnWeights::per_head};
    const auto spec = AttentionSpec::create(shape, options, scoring).value();
    const Upstream<float> upstream = random_upstream(clean, options, 3610);
    Inputs<float> in = clone(clean);
    std::vector<bool> hidden;
    for (std::size_t n = 0; n < shape.B * shape.Hkv * shape.Lkv; ++n) {
      const std::size_t b = n / shape.Lkv / shape.Hkv;
      const std::size_t g = n / shape.Lkv % shape.Hkv;
      bool seen = false;
      for (std::size_t h = g * 2; h < g * 2 + 2; ++h) {
        for (std::size_t i = 0; i < shape.Lq; ++i) {
          seen = seen || spec.mask.may_attend(b, h, i, n % shape.Lkv);
        }
      }
      hidden.push_back(!seen);
      if (!seen) {
        poison(in.key, b, n % shape.Lkv, g);
        poison(in.value, b, n % shape.Lkv, g);
      }
    }
    const Gradients<float> got = differentiate(in, upstream, options, scoring);
    EXPECT_TRUE(
        same_bits(got, differentiate(clean, upstream, options, scoring)))
        << name;
    for (std::size_t n = 0; n < hidden.size(); ++n) {
      const std::size_t b = n / shape.Lkv / shape.Hkv;
      const std::size_t g = n / shape.Lkv % shape.Hkv;
      for (std::size_t d = 0; hidden[n] && d < shape.D; ++d) {
        EXPECT_EQ(got.key(b, n % shape.Lkv, g, d), 0) << name;
        EXPECT_EQ(got.value(b, n % shape.Lkv, g, d), 0) << name;
      }
    }
  }
}

// What a loss does not depend on, such as padded queries, holds NaN.
TEST_P(BackwardPromisesTest,
       OfQueriesWithoutGradientIsZeroAndTheyReachNothing) {
  const AttentionShape shape = {
      .B = 2, .Hq = 4, .Hkv = 2, .Lq = 130, .Lkv = 140, .D = 5, .Dv = 6};
  const EveryMask every(shape, true);
  const std::vector<AttentionOptions> cases = {
      {},
      {.mask = causal(), .softcap = 2.0},
      {.bias = every.biases().biases()[2].second,
       .t5_bias = every.biases().t5_bias(true),
       .alibi = every.biases().slopes(),
       .sinks = every.biases().sinks(),
       .attn_weights = AttnWeights::per_head},
      {.mask = every.masks().back().second,
       .empty_rows = EmptyRow::uniform,
       .dropout = {.p = 0.3, .training = true},
       .attn_weights = AttnWeights::after_dropout},
      {.attn_weights = AttnWeights::mean}};
  const OperationOptions scoring = scoring_of(shape);
  const auto has_gradient = [](std::size_t i) { return i < 61 && i != 3; };
  for (std::size_t n = 0; n < cases.size(); ++n) {
    SCOPED_TRACE(n);
    const AttentionOptions& options = cases[n];
    const Inputs<float> clean = random_inputs(shape, 3614);
    Upstream<float> upstream = random_upstream(clean, options, 3617);
    Inputs<float> in = clone(clean);
    for (std::size_t b = 0; b < shape.B; ++b) {
      for (std::size_t i = 0; i < shape.Lq; ++i) {
        for (std::size_t h = 0; h < shape.Hq && !has_gradient(i); ++h) {
          std::fill_n(&upstream.d_output(b, i, h, 0), shape.Dv, 0.0f);
          if (h < upstream.d_attn_weights.extent(1)) {
            std::fill_n(&upstream.d_attn_weights(b, h, i, 0), shape.Lkv, 0.0f);
          }
          std::fill_n(&in.query(b, i, h, 0), shape.D,
                      i % 2 == 0 ? kNaN : -kMinusInf);
        }
      }
    }
    const Gradients<float> got = differentiate(in, upstream, options, scoring);
    EXPECT_TRUE(
        same_bits(got, differentiate(clean, upstream, options, scoring)));
    for (std::size_t i = 0; i < shape.Lq; ++i) {
      EXPECT_TRUE(has_gradient(i) || got.query(1, i, 2, 1) == 0) << i;
    }
  }
}

// A query, its output's gradient, or a key and value hold NaN: who does not
// attend to them, and whom they do not attend to, keeps its bits.
TEST_P(BackwardPromisesTest, OfRowsThatDoNotSeeANaNHasItsBits) {
  const AttentionShape shape = {
      .B = 1, .Hq = 1, .Hkv = 1, .Lq = 100, .Lkv = 100, .D = 4, .Dv = 4};
  constexpr std::size_t at = 70;
  const Inputs<float> clean = random_inputs(shape, 3620);
  const AttentionOptions options = {.mask = causal()};
  const OperationOptions scoring = scoring_of(shape);
  const Upstream<float> upstream = random_upstream(clean, options, 3630);
  const Gradients<float> want =
      differentiate(clean, upstream, options, scoring);

  Inputs<float> late_key = clone(clean);
  poison(late_key.key, 0, at, 0);
  poison(late_key.value, 0, at, 0);
  // The queries before the key.
  const Gradients<float> early =
      differentiate(late_key, upstream, options, scoring);
  EXPECT_TRUE(
      same_bits({early.query.data(), at * 4}, {want.query.data(), at * 4}));

  Inputs<float> early_query = clone(clean);
  poison(early_query.query, 0, at, 0);
  Upstream<float> early_gradient = {clone(upstream.d_output), {}};
  poison(early_gradient.d_output, 0, at, 0);
  // The keys behind the query.
  const std::size_t behind = (shape.Lkv - at - 1) * 4;
  for (const Gradients<float>& late :
       {differentiate(early_query, upstream, options, scoring),
        differentiate(clean, early_gradient, options, scoring)}) {
    EXPECT_TRUE(same_bits({&late.key(0, at + 1, 0, 0), behind},
                          {&want.key(0, at + 1, 0, 0), behind}));
    EXPECT_TRUE(same_bits({&late.value(0, at + 1, 0, 0), behind},
                          {&want.value(0, at + 1, 0, 0), behind}));
  }
}

TEST_P(BackwardPromisesTest, OfARowWithoutAnyKeyIsFiniteUnderEveryPolicy) {
  const AttentionShape shape = {
      .B = 2, .Hq = 2, .Hkv = 2, .Lq = 5, .Lkv = 6, .D = 4, .Dv = 4};
  const auto lengths = tensor_of<std::int64_t, 1>({2}, {0, 6});
  const Inputs<float> in = random_inputs(shape, 3640);
  const Upstream<float> upstream = random_upstream(in, {}, 3650);
  for (const EmptyRow policy :
       {EmptyRow::zero, EmptyRow::uniform, EmptyRow::nan}) {
    const Gradients<float> got = differentiate(
        in, upstream, {.mask = key_lengths(lengths), .empty_rows = policy},
        scoring_of(shape));
    for (std::size_t n = 0; n < got.query.size() / 2; ++n) {
      EXPECT_EQ(got.query.data()[n], 0);
    }
    for (const float x : got.value.elements()) {
      EXPECT_TRUE(std::isfinite(x));
    }
    for (const float x : got.score_weight.elements()) {
      EXPECT_TRUE(std::isfinite(x));
    }
    EXPECT_EQ(got.value(0, 0, 0, 0) != 0, policy == EmptyRow::uniform);
  }
}

// The second sequence has two keys, of which the third would be the first.
TEST_P(BackwardPromisesTest, OfASequenceThatEndsBeforeItsFirstKeyStopsThere) {
  const AttentionShape shape = {
      .B = 1, .Hq = 1, .Hkv = 1, .Lq = 7, .Lkv = 7, .D = 4, .Dv = 4};
  const auto offsets = tensor_of<std::int64_t, 1>({3}, {0, 5, 7});
  const auto starts = tensor_of<std::int64_t, 1>({2}, {0, 3});
  const Inputs<float> in = random_inputs(shape, 3655);
  const Upstream<float> upstream = random_upstream(in, {}, 3656);
  const AttentionOptions options = {.mask = key_starts(starts),
                                    .offsets = offsets,
                                    .empty_rows = EmptyRow::uniform};
  const auto rows = filled<float, 4>({1, 1, 7, 2}, 1);
  auto d_key = filled<float, 4>({1, 8, 1, 4}, 42);
  auto d_value = filled<float, 4>({1, 8, 1, 4}, 42);
  ASSERT_TRUE(attention_backward(
      {in.query, in.key, in.value, upstream.d_output, rows, upstream.d_output},
      {.key = {d_key.data(), {1, 7, 1, 4}},
       .value = {d_value.data(), {1, 7, 1, 4}}},
      options, scoring_of(shape)));
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_EQ(d_key(0, 7, 0, c), 42);
    EXPECT_EQ(d_value(0, 7, 0, c), 42);
  }
}

TEST_P(BackwardPromisesTest, WithoutQueriesOrKeysIsZero) {
  for (const auto& [Lq, Lkv] : {std::pair{0u, 3u}, {3u, 0u}}) {
    const AttentionShape shape = {
        .B = 2, .Hq = 2, .Hkv = 2, .Lq = Lq, .Lkv = Lkv, .D = 4, .Dv = 4};
    const Inputs<float> in = random_inputs(shape, 3660);
    for (const EmptyRow policy : {EmptyRow::zero, EmptyRow::uniform}) {
      const Gradients<float> got =
          differentiate(in, random_upstream(in, {}, 3670),
                        {.empty_rows = policy}, scoring_of(shape));
      EXPECT_THAT(got.query.elements(), Each(0.0f));
      EXPECT_THAT(got.key.elements(), Each(0.0f));
      EXPECT_THAT(got.value.elements(), Each(0.0f));
      EXPECT_THAT(got.score_weight.elements(), Each(0.0f));
    }
  }
}

TEST_P(BackwardPromisesTest, DropoutOfEverythingGivesNoGradient) {
  const Inputs<float> in = random_inputs(kFewHeads, 3680);
  const Upstream<float> upstream = random_upstream(in, {}, 3690);
  const Gradients<float> got =
      differentiate(in, upstream, {.dropout = {.p = 1, .training = true}},
                    scoring_of(kFewHeads));
  EXPECT_THAT(got.query.elements(), Each(0.0f));
  EXPECT_THAT(got.key.elements(), Each(0.0f));
  EXPECT_THAT(got.value.elements(), Each(0.0f));
  EXPECT_THAT(got.score_weight.elements(), Each(0.0f));
}

INSTANTIATE_TEST_SUITE_P(Scorings, BackwardPromisesTest,
                         testing::Values(Scores::dot, Scores::additive),
                         [](const auto& given) {
                           return given.param == Scores::dot ? "Dot"
                                                             : "Additive";
                         });

TEST(BackwardErrorTest, NamesWhatDoesNotFitAndNothingIsWritten) {
  const Inputs<float> in = random_inputs(kFewHeads, 3700);
  const Upstream<float> upstream = random_upstream(in, {}, 3710);
  const std::size_t B = kFewHeads.B;
  const std::size_t Hq = kFewHeads.Hq;
  const std::size_t Lq = kFewHeads.Lq;
  const std::size_t Lkv = kFewHeads.Lkv;
  const std::size_t Dv = kFewHeads.Dv;
  const auto rows = filled<float, 4>({B, Hq, Lq, 2}, 1);
  auto d_query = filled<float, 4>(in.query.extents(), 42);
  auto d_bias = filled<float, 4>({1, 1, Lq, Lkv}, 42);
  const auto short_gradient = filled<float, 4>({B, Lq, Hq, Dv - 1}, 1);
  const BackwardInputs good = {in.query,          in.key, in.value,
                               upstream.d_output, rows,   upstream.d_output};
  const auto message = [&](const BackwardInputs& inputs,
                           const AttentionGradients& gradients,
                           const AttentionOptions& options = {}) {
    const Status s = attention_backward(inputs, gradients, options);
    EXPECT_THAT(d_query.elements(), Each(42.0f));
    return s ? "no error" : s.error().message();
  };
  const AttentionGradients query_only = {.query = d_query};
  BackwardInputs bad = good;
  bad.d_output = short_gradient;
  EXPECT_EQ(message(bad, query_only),
            "attention_backward: d_output has shape (2, 149, 2, 16), expected "
            "(B, Lq, Hq, Dv) = (2, 149, 2, 17)");
  bad = good;
  bad.softmax_rows = short_gradient;
  EXPECT_EQ(message(bad, query_only),
            "attention_backward: softmax_rows has shape (2, 149, 2, 16), "
            "expected (B, Hq, Lq, 2) = (2, 2, 149, 2)");
  bad = good;
  bad.d_attn_weights = short_gradient;
  EXPECT_EQ(message(bad, query_only),
            "attention_backward: d_attn_weights is given, expected none: the "
            "options do not ask for it");
  EXPECT_EQ(message(good, {.key = d_query}),
            "attention_backward: d_key has shape (2, 149, 2, 20), expected "
            "(B, Lkv, Hkv, D) = (2, 300, 1, 20)");
  EXPECT_EQ(message(good, {.query = d_query, .bias = d_bias}),
            "attention_backward: d_bias is given, expected none: the options "
            "have no bias");
}

TEST(BackwardErrorTest, NamesAGradientOfScoreWeightThatDoesNotFit) {
  const AttentionShape shape = {
      .B = 2, .Hq = 2, .Hkv = 1, .Lq = 101, .Lkv = 150, .D = 20, .Dv = 7};
  const Inputs<float> in = random_inputs(shape, 4920);
  const std::size_t B = shape.B;
  const std::size_t Hq = shape.Hq;
  const std::size_t Lq = shape.Lq;
  const std::size_t D = shape.D;
  const std::size_t Dv = shape.Dv;
  const auto rows = filled<float, 4>({B, Hq, Lq, 2}, 1);
  const auto d_output = filled<float, 4>({B, Lq, Hq, Dv}, 1);
  const auto score_weight = uniform<2>({Hq, D}, 4925);
  auto gradient = filled<float, 2>({Hq, D}, 42);
  const auto message = [&](const TensorView<float, 2>& wanted,
                           const OperationOptions& operation_options) {
    const Status s = attention_backward(
        {in.query, in.key, in.value, d_output, rows, d_output},
        {.score_weight = wanted}, {}, operation_options);
    EXPECT_THAT(gradient.elements(), Each(42.0f));
    return s ? "no error" : s.error().message();
  };
  EXPECT_EQ(message(gradient, {}),
            "attention_backward: d_score_weight is given, expected none: the "
            "options have no score_weight");
  EXPECT_EQ(
      message({gradient.data(), {Hq, D - 1}}, {.score_weight = score_weight}),
      "attention_backward: d_score_weight has shape (2, 19), expected "
      "(Hq, D) = (2, 20)");
}

}  // namespace
}  // namespace headwise::testing_support
