#include "headwise/attention/forward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attention/attention_call.h"
#include "headwise/steps/heads.h"
#include "support/tensors.h"

namespace headwise {
namespace {

using testing::Each;
using testing_support::all_near;
using testing_support::attend;
using testing_support::bits;
using testing_support::copy_of;
using testing_support::EveryMask;
using testing_support::filled;
using testing_support::Inputs;
using testing_support::kNaNBits;
using testing_support::Outputs;
using testing_support::random_inputs;
using testing_support::reference;
using testing_support::same_bits;
using testing_support::tensor_of;
using testing_support::uniform;
using testing_support::view_of;
using testing_support::widened;

const std::vector<AttentionShape> kShapes = {
    {.B = 2, .Hq = 3, .Hkv = 3, .Lq = 5, .Lkv = 7, .D = 8, .Dv = 8},
    {.B = 3, .Hq = 4, .Hkv = 2, .Lq = 9, .Lkv = 6, .D = 5, .Dv = 3},
    {.B = 2, .Hq = 3, .Hkv = 1, .Lq = 2, .Lkv = 300, .D = 16, .Dv = 20},
    {.B = 1, .Hq = 2, .Hkv = 2, .Lq = 130, .Lkv = 129, .D = 4, .Dv = 4},
    {.B = 1, .Hq = 1, .Hkv = 1, .Lq = 1, .Lkv = 1, .D = 1, .Dv = 1}};

constexpr AttentionShape kSmall = {
    .B = 2, .Hq = 4, .Hkv = 2, .Lq = 5, .Lkv = 7, .D = 8, .Dv = 6};

// Options of every kind for calls of these sizes.
struct OptionsCase {
  std::string name;
  AttentionOptions options;
};
std::vector<OptionsCase> every_options(const EveryMask& every_mask) {
  std::vector<OptionsCase> cases;
  for (const auto& [name, mask] : every_mask.masks()) {
    cases.push_back({"mask " + name, {.mask = mask, .query_start = 1}});
  }
  const Mask all = cases.back().options.mask;
  cases.push_back({"scale", {.scale = 1.7}});
  cases.push_back(
      {"bottom right",
       {.mask = causal(), .query_start = QueryStart::bottom_right()}});
  for (const EmptyRow empty_rows : {EmptyRow::uniform, EmptyRow::nan}) {
    cases.push_back(
        {"empty rows",
         {.mask = all, .query_start = -2, .empty_rows = empty_rows}});
  }
  cases.push_back({"dropout",
                   {.mask = all,
                    .dropout = {.p = 0.3, .training = true, .seed = Seed{9}},
                    .attn_weights = AttnWeights::after_dropout}});
  cases.push_back({"mean", {.mask = all, .attn_weights = AttnWeights::mean}});
  for (OptionsCase& c : cases) {
    if (c.options.attn_weights == AttnWeights::none) {
      c.options.attn_weights = AttnWeights::per_head;
    }
  }
  return cases;
}

testing::AssertionResult same_bits(const Outputs<float>& got,
                                   const Outputs<float>& want) {
  if (auto r = same_bits(got.output, want.output); !r) {
    return r << " of output";
  }
  if (auto r = same_bits(got.attn_weights, want.attn_weights); !r) {
    return r << " of attn_weights";
  }
  return same_bits(got.lse, want.lse) << " of lse";
}

TEST(AttentionTest, HasTheBitsOfTheReferenceInBinary32) {
  for (const AttentionShape& shape : kShapes) {
    const Inputs<float> in = random_inputs(shape, 100);
    const EveryMask every_mask(shape, true);
    for (const auto& [name, options] : every_options(every_mask)) {
      EXPECT_TRUE(same_bits(attend(in, options), reference(in, options)))
          << name << ", Lkv " << shape.Lkv;
    }
  }
}

TEST(AttentionTest, MatchesTheReferenceInBinary64) {
  for (const AttentionShape& shape : kShapes) {
    const Inputs<float> in = random_inputs(shape, 110);
    const EveryMask every_mask(shape, true);
    for (const auto& [name, options] : every_options(every_mask)) {
      SCOPED_TRACE(name);
      const Outputs<float> got = attend(in, options);
      const Outputs<double> want = reference(widened(in), options);
      EXPECT_TRUE(all_near(got.output, want.output, 8e-6));
      EXPECT_TRUE(all_near(got.attn_weights, want.attn_weights, 4e-6));
      EXPECT_TRUE(all_near(got.lse, want.lse, 4e-6));
    }
  }
}

// ---- The same bits, however the work is cut. ----

TEST(SameBitsTest, OnAnyNumberOfThreads) {
  for (const AttentionShape& shape : kShapes) {
    const Inputs<float> in = random_inputs(shape, 120);
    const EveryMask every_mask(shape, true);
    for (const auto& [name, options] : every_options(every_mask)) {
      const Outputs<float> want = attend(in, options);
      for (const std::size_t threads : {1u, 2u, 3u, 7u}) {
        const Executor executor = Executor::with_threads(threads).value();
        AttentionOptions threaded = options;
        threaded.executor = &executor;
        EXPECT_TRUE(same_bits(attend(in, threaded), want))
            << name << ", " << threads << " threads";
      }
    }
  }
}

template <class T, std::size_t Rank>
TensorView<const T, Rank> sequence_of(const Tensor<T, Rank>& tensor,
                                      std::size_t b) {
  Extents<Rank> extents = tensor.extents();
  const std::size_t one = tensor.size() / extents[0];
  extents[0] = 1;
  return {tensor.data() + b * one, extents};
}

TEST(SameBitsTest, OfASequenceAloneAndInItsBatch) {
  const AttentionShape shape = kShapes[1];
  const Inputs<float> in = random_inputs(shape, 130);
  const auto lengths = tensor_of<std::int64_t, 1>({3}, {6, 2, 4});
  const auto starts = tensor_of<std::int64_t, 1>({3}, {0, -3, 2});
  AttentionOptions options = {
      .mask = causal() & key_lengths(lengths.view()),
      .query_start = starts.view(),
      .dropout = {.p = 0.4, .training = true, .seed = Seed{3}}};
  const Outputs<float> batch = attend(in, options);
  for (std::size_t b = 0; b < shape.B; ++b) {
    const auto id =
        tensor_of<std::int64_t, 1>({1}, {static_cast<std::int64_t>(b)});
    options.mask = causal() & key_lengths(sequence_of(lengths, b));
    options.query_start = starts(b);
    options.dropout.sequence_ids = id.view();
    auto output = filled<float, 4>({1, 9, 4, 3}, 42);
    ASSERT_TRUE(attention(sequence_of(in.query, b), sequence_of(in.key, b),
                          sequence_of(in.value, b), output.view(), options));
    const auto want = sequence_of(batch.output, b);
    EXPECT_TRUE(same_bits(output.elements(), {want.data(), want.size()}));
  }
}

TEST(SameBitsTest, WithAndWithoutABatchAxis) {
  const AttentionShape shape = {
      .B = 1, .Hq = 4, .Hkv = 2, .Lq = 5, .Lkv = 7, .D = 8, .Dv = 6};
  const Inputs<float> in = random_inputs(shape, 140);
  const auto unbatched = [](const Tensor<float, 4>& tensor) {
    return tensor.clone().value().without_batch();
  };
  auto output = filled<float, 3>({5, 4, 6}, 42);
  ASSERT_TRUE(attention(unbatched(in.query).view(), unbatched(in.key).view(),
                        unbatched(in.value).view(), output.view(),
                        {.mask = causal()}));
  EXPECT_TRUE(same_bits(output.elements(),
                        attend(in, {.mask = causal()}).output.elements()));
}

TEST(SameBitsTest, InEveryLayout) {
  for (const AttentionShape& shape : kShapes) {
    const Inputs<float> in = random_inputs(shape, 150);
    const Outputs<float> want = attend(in, {.mask = causal()});
    // (B, H, L, D) data, in and out.
    const auto query = copy_of(as_bhld(view_of(in.query)));
    const auto key = copy_of(as_bhld(view_of(in.key)));
    const auto value = copy_of(as_bhld(view_of(in.value)));
    auto output = filled<float, 4>({shape.B, shape.Hq, shape.Lq, shape.Dv}, 42);
    ASSERT_TRUE(attention(as_blhd(view_of(query)), as_blhd(view_of(key)),
                          as_blhd(view_of(value)), as_blhd(output.view()),
                          {.mask = causal()}));
    EXPECT_TRUE(same_bits(copy_of(as_blhd(output.view())), want.output));
  }
}

TEST(SameBitsTest, OfQueryKeyAndValueInOneTensorWithGapsAndBackwards) {
  const AttentionShape shape = {
      .B = 2, .Hq = 2, .Hkv = 2, .Lq = 5, .Lkv = 5, .D = 4, .Dv = 4};
  const Inputs<float> in = random_inputs(shape, 160);
  const Outputs<float> want = attend(in);
  // (B, L, 3, H, D): packed projections; the tokens stand in reverse.
  auto packed = Tensor<float, 1>::create({2 * 5 * 3 * 2 * 4}).value();
  const auto part = [&](std::size_t p) {
    return TensorView<float, 4>(packed.data() + 4 * 24 + p * 8, {2, 5, 2, 4},
                                {120, -24, 4, 1});
  };
  const auto put = [](const Tensor<float, 4>& from, TensorView<float, 4> to) {
    for (std::size_t b = 0; b < 2; ++b) {
      for (std::size_t l = 0; l < 5; ++l) {
        for (std::size_t h = 0; h < 2; ++h) {
          for (std::size_t d = 0; d < 4; ++d) {
            to(b, l, h, d) = from(b, l, h, d);
          }
        }
      }
    }
  };
  put(in.query, part(0));
  put(in.key, part(1));
  put(in.value, part(2));
  auto output = filled<float, 4>({2, 5, 2, 4}, 42);
  ASSERT_TRUE(attention(part(0), part(1), part(2), output.view()));
  EXPECT_TRUE(same_bits(output, want.output));
}

TEST(SameBitsTest, OfTheOutputWhateverElseIsAskedFor) {
  const Inputs<float> in = random_inputs(kSmall, 170);
  const AttentionOptions plain = {.mask = causal()};
  const Outputs<float> want = attend(in, plain);
  for (const AttnWeights form :
       {AttnWeights::per_head, AttnWeights::mean, AttnWeights::after_dropout}) {
    AttentionOptions options = plain;
    options.attn_weights = form;
    EXPECT_TRUE(same_bits(attend(in, options).output, want.output));
  }
  auto output = filled<float, 4>({2, 5, 4, 6}, 42);
  ASSERT_TRUE(attention(in.query.view(), in.key.view(), in.value.view(),
                        output.view(), plain));
  EXPECT_TRUE(same_bits(output, want.output));
}

// ---- Masked means masked. ----

// What every way of computing it gives for row (b, h, i).
std::vector<std::vector<float>> rows_of_every_path(
    const Inputs<float>& in, const AttentionOptions& options, std::size_t b,
    std::size_t h, std::size_t i) {
  const Outputs<float> kernel = attend(in, options);
  const Outputs<float> narrow = reference(in, options);
  const Outputs<double> wide = reference(widened(in), options);
  const AttentionSteps steps = testing_support::stepwise(in, options);
  std::vector<std::vector<float>> rows(8);
  for (std::size_t d = 0; d < in.value.extent(3); ++d) {
    rows[0].push_back(kernel.output(b, i, h, d));
    rows[1].push_back(narrow.output(b, i, h, d));
    rows[2].push_back(static_cast<float>(wide.output(b, i, h, d)));
    rows[3].push_back(steps.context(b, i, h, d));
  }
  for (std::size_t j = 0; j < in.key.extent(1); ++j) {
    rows[4].push_back(kernel.attn_weights(b, h, i, j));
    rows[5].push_back(narrow.attn_weights(b, h, i, j));
    rows[6].push_back(steps.attn_weights(b, h, i, j));
  }
  rows[7] = {kernel.lse(b, h, i), narrow.lse(b, h, i), steps.lse(b, h, i)};
  return rows;
}

void poison(Tensor<float, 4>& blhd, std::size_t b, std::size_t l, std::size_t h,
            float with) {
  for (std::size_t d = 0; d < blhd.extent(3); ++d) {
    blhd(b, l, h, d) = with;
  }
}

TEST(MaskedTest, WhatAMaskedKeyAndValueHoldNeverReachesTheRow) {
  const AttentionShape shape = {
      .B = 2, .Hq = 4, .Hkv = 2, .Lq = 3, .Lkv = 6, .D = 3, .Dv = 2};
  const Inputs<float> clean = random_inputs(shape, 200);
  const EveryMask every_mask(shape, true);
  const float poisons[] = {kNaN, -kMinusInf, kMinusInf, 3e38f};
  std::size_t turn = 0;
  for (const auto& [name, mask] : every_mask.masks()) {
    const AttentionOptions options = {.mask = mask,
                                      .attn_weights = AttnWeights::per_head};
    const auto bound = BoundMask::bind(mask, shape, {}, "test").value();
    for (std::size_t row = 0; row < shape.B * shape.Hq * shape.Lq; ++row) {
      const std::size_t b = row / shape.Lq / shape.Hq;
      const std::size_t h = row / shape.Lq % shape.Hq;
      const std::size_t i = row % shape.Lq;
      const std::size_t g = shape.kv_head(h);
      for (const bool mixed : {false, true}) {
        Inputs<float> in = clone(clean);
        ++turn;
        for (std::size_t j = 0; j < shape.Lkv; ++j) {
          if (!bound.may_attend(b, h, i, j)) {
            const float with = poisons[(turn + (mixed ? j : 0)) % 4];
            poison(in.key, b, j, g, with);
            poison(in.value, b, j, g, with);
          }
        }
        const auto want = rows_of_every_path(clean, options, b, h, i);
        const auto got = rows_of_every_path(in, options, b, h, i);
        for (std::size_t path = 0; path < want.size(); ++path) {
          EXPECT_TRUE(same_bits(got[path], want[path]))
              << name << ", row " << b << " " << h << " " << i << ", path "
              << path;
        }
      }
    }
  }
}

TEST(MaskedTest, ManyPoisonedKeysBehindTheLengthsChangeNoBit) {
  const AttentionShape shape = {
      .B = 2, .Hq = 2, .Hkv = 2, .Lq = 60, .Lkv = 300, .D = 8, .Dv = 8};
  const auto lengths = tensor_of<std::int64_t, 1>({2}, {128, 131});
  const AttentionOptions options = {
      .mask = causal() & key_lengths(lengths.view()),
      .query_start = 100,
      .attn_weights = AttnWeights::per_head};
  Inputs<float> in = random_inputs(shape, 210);
  const Outputs<float> want = attend(in, options);
  for (std::size_t b = 0; b < 2; ++b) {
    for (auto j = static_cast<std::size_t>(lengths(b)); j < 300; ++j) {
      for (std::size_t h = 0; h < 2; ++h) {
        poison(in.key, b, j, h, j % 2 == 0 ? kNaN : -kMinusInf);
        poison(in.value, b, j, h, j % 3 == 0 ? kNaN : kMinusInf);
      }
    }
  }
  EXPECT_TRUE(same_bits(attend(in, options), want));
}

TEST(AllowedNaNTest, InAQueryMakesItsRowNaNAndNoOther) {
  const Inputs<float> clean = random_inputs(kSmall, 220);
  const AttentionOptions options = {.mask = causal(),
                                    .attn_weights = AttnWeights::per_head};
  const Outputs<float> want = attend(clean, options);
  Inputs<float> in = clone(clean);
  in.query(1, 2, 3, 0) = kNaN;
  const Outputs<float> out = attend(in, options);
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t h = 0; h < 4; ++h) {
        const bool is_nan = b == 1 && i == 2 && h == 3;
        EXPECT_EQ(bits(out.lse(b, h, i)),
                  is_nan ? kNaNBits : bits(want.lse(b, h, i)));
        for (std::size_t d = 0; d < 6; ++d) {
          EXPECT_EQ(bits(out.output(b, i, h, d)),
                    is_nan ? kNaNBits : bits(want.output(b, i, h, d)));
        }
        for (std::size_t j = 0; j < 7; ++j) {
          // Masked weights are 0, in a NaN row too.
          EXPECT_EQ(bits(out.attn_weights(b, h, i, j)),
                    is_nan && j <= i ? kNaNBits
                                     : bits(want.attn_weights(b, h, i, j)));
        }
      }
    }
  }
}

TEST(AllowedNaNTest, InAKeyMakesTheRowsNaNThatMayAttendToIt) {
  const Inputs<float> clean = random_inputs(kSmall, 230);
  const AttentionOptions options = {.mask = causal()};
  const Outputs<float> want = attend(clean, options);
  Inputs<float> in = clone(clean);
  in.key(0, 3, 1, 2) = kNaN;  // heads 2 and 3 read it, from query 3 on
  const Outputs<float> out = attend(in, options);
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t h = 0; h < 4; ++h) {
        const bool is_nan = b == 0 && i >= 3 && h >= 2;
        for (std::size_t d = 0; d < 6; ++d) {
          EXPECT_EQ(bits(out.output(b, i, h, d)),
                    is_nan ? kNaNBits : bits(want.output(b, i, h, d)));
        }
      }
    }
  }
}

TEST(AllowedNaNTest, InAValueMakesOnlyItsFeatureNaN) {
  const Inputs<float> clean = random_inputs(kSmall, 240);
  const AttentionOptions options = {.mask = causal()};
  const Outputs<float> want = attend(clean, options);
  for (const float with : {kNaN, -kNaN}) {
    Inputs<float> in = clone(clean);
    in.value(0, 3, 0, 4) = with;  // heads 0 and 1 read it
    const Outputs<float> out = attend(in, options);
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t h = 0; h < 4; ++h) {
        for (std::size_t d = 0; d < 6; ++d) {
          const bool is_nan = i >= 3 && h < 2 && d == 4;
          EXPECT_EQ(bits(out.output(0, i, h, d)),
                    is_nan ? kNaNBits : bits(want.output(0, i, h, d)));
        }
      }
    }
  }
}

TEST(AllowedNaNTest, APlusInfinityScoreMakesItsRowNaN) {
  Inputs<float> in = random_inputs(kSmall, 250);
  in.query(0, 0, 0, 0) = -kMinusInf;
  in.key(0, 2, 0, 0) = 1;
  const Outputs<float> out = attend(in);
  EXPECT_EQ(bits(out.lse(0, 0, 0)), kNaNBits);
  EXPECT_EQ(bits(out.output(0, 0, 0, 0)), kNaNBits);
  EXPECT_TRUE(std::isfinite(out.output(0, 0, 1, 0)));
  EXPECT_TRUE(std::isfinite(out.output(0, 1, 0, 0)));
}

TEST(AllowedNaNTest, AnAllowedMinusInfinityHasWeightZeroAndItsValueIsRead) {
  // q.k is -inf for key 0 and 0 for key 1.
  Inputs<float> in = {tensor_of<float, 4>({1, 1, 1, 1}, {1}),
                      tensor_of<float, 4>({1, 2, 1, 1}, {kMinusInf, 0}),
                      tensor_of<float, 4>({1, 2, 1, 1}, {5, 7})};
  const AttentionOptions options = {.attn_weights = AttnWeights::per_head};
  const Outputs<float> out = attend(in, options);
  EXPECT_THAT(out.attn_weights.elements(), testing::ElementsAre(0, 1));
  EXPECT_EQ(out.output(0, 0, 0, 0), 7);
  in.value(0, 0, 0, 0) = kNaN;
  EXPECT_EQ(bits(attend(in, options).output(0, 0, 0, 0)), kNaNBits);
}

// Every NaN among the results, whatever made it.
TEST(AllowedNaNTest, EveryNaNThatIsReturnedHasTheSameBits) {
  const AttentionShape shape = {
      .B = 2, .Hq = 2, .Hkv = 2, .Lq = 6, .Lkv = 6, .D = 3, .Dv = 3};
  Inputs<float> in = random_inputs(shape, 260);
  const auto other_nan = [](std::uint32_t with) {
    return std::bit_cast<float>(with);
  };
  in.query(0, 0, 0, 0) = other_nan(0xffc00000u);
  in.query(0, 1, 0, 0) = other_nan(0x7fc12345u);
  in.query(0, 2, 0, 0) = -kMinusInf;
  in.query(0, 2, 0, 1) = kMinusInf;
  in.key(0, 3, 1, 0) = other_nan(0xffedcba9u);
  in.value(1, 2, 0, 0) = other_nan(0xffc00001u);
  in.value(1, 3, 1, 0) = -kMinusInf;
  in.value(1, 4, 1, 0) = kMinusInf;
  for (const AttnWeights form :
       {AttnWeights::per_head, AttnWeights::mean, AttnWeights::after_dropout}) {
    const AttentionOptions options = {.dropout = {.p = 0.2, .training = true},
                                      .attn_weights = form};
    const Outputs<float> out = attend(in, options);
    const AttentionSteps steps = testing_support::stepwise(in, options);
    std::size_t found = 0;
    for (const auto& elements :
         {out.output.elements(), out.attn_weights.elements(),
          out.lse.elements(), steps.scores.elements(),
          steps.attn_weights.elements(), steps.dropped_weights.elements(),
          steps.context.elements(), steps.lse.elements()}) {
      std::size_t here = 0;
      for (const float x : elements) {
        if (std::isnan(x)) {
          ASSERT_EQ(bits(x), kNaNBits);
          ++here;
        }
      }
      found += here > 0;
    }
    EXPECT_EQ(found, 8u);
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
  average_heads(per_head.attn_weights.view(), want.view());
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
      BoundDropout::bind(options.dropout, kSmall, {}, "test").value();
  auto dropped = Tensor<float, 4>::create({2, 4, 5, 7}).value();
  apply_dropout(before.attn_weights.view(), dropout, dropped.view());
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
}  // namespace headwise
