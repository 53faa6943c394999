// Masked means masked, and an allowed NaN stays in its row.

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "attention/attention_call.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

// What every way of computing it gives for row (b, h, i).
std::vector<std::vector<float>> rows_of_every_path(
    const Inputs<float>& in, const AttentionOptions& options, std::size_t b,
    std::size_t h, std::size_t i,
    const OperationOptions& operation_options = {}) {
  const Outputs<float> kernel = attend(in, options, operation_options);
  const Outputs<float> narrow = reference(in, options, operation_options);
  const Outputs<double> wide =
      reference(widened(in), options, operation_options);
  const AttentionSteps steps = stepwise(in, options, operation_options);
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

const AttentionShape kPoisoned = {
    .B = 2, .Hq = 4, .Hkv = 2, .Lq = 3, .Lkv = 6, .D = 3, .Dv = 2};
constexpr float kPoisons[] = {kNaN, -kMinusInf, kMinusInf, 3e38f};

// Poisons what each row may not attend to and looks at the row.
void expect_poison_stays_out(const AttentionOptions& options,
                             const std::string& name,
                             const OperationOptions& operation_options = {}) {
  const AttentionShape& shape = kPoisoned;
  const Inputs<float> clean = random_inputs(shape, 200);
  const AttentionSpec spec =
      AttentionSpec::create(shape, options, operation_options).value();
  std::size_t turn = 0;
  for (std::size_t row = 0; row < shape.B * shape.Hq * shape.Lq; ++row) {
    const std::size_t b = row / shape.Lq / shape.Hq;
    const std::size_t h = row / shape.Lq % shape.Hq;
    const std::size_t i = row % shape.Lq;
    const std::size_t g = shape.kv_head(h);
    for (const bool mixed : {false, true}) {
      Inputs<float> in = clone(clean);
      ++turn;
      for (std::size_t j = 0; j < shape.Lkv; ++j) {
        if (!spec.mask.may_attend(b, h, i, j) ||
            (spec.bias.given() && spec.bias(b, h, i, j) == kMinusInf)) {
          const float with = kPoisons[(turn + (mixed ? j : 0)) % 4];
          poison(in.key, b, j, g, with);
          poison(in.value, b, j, g, with);
        }
      }
      const auto want =
          rows_of_every_path(clean, options, b, h, i, operation_options);
      const auto got =
          rows_of_every_path(in, options, b, h, i, operation_options);
      for (std::size_t path = 0; path < want.size(); ++path) {
        EXPECT_TRUE(same_bits(got[path], want[path]))
            << name << ", row " << b << " " << h << " " << i << ", path "
            << path;
      }
    }
  }
}

TEST(MaskedTest, WhatAMaskedKeyAndValueHoldNeverReachesTheRow) {
  const EveryMask every_mask(kPoisoned, true);
  for (const auto& [name, mask] : every_mask.masks()) {
    expect_poison_stays_out(
        {.mask = mask, .attn_weights = AttnWeights::per_head}, name);
  }
}

TEST(MaskedTest, WhatABiasOfMinusInfinityMasksNeverReachesTheRow) {
  const EveryMask every_mask(kPoisoned, true);
  for (const auto& [name, bias] : every_mask.biases().biases()) {
    AttentionOptions options = {.bias = bias,
                                .attn_weights = AttnWeights::per_head};
    expect_poison_stays_out(options, "bias " + name);
    options.mask = causal();
    options.softcap = 1.0;
    options.alibi = every_mask.biases().slopes();
    expect_poison_stays_out(options, "all terms, bias " + name);
  }
}

TEST(MaskedTest, WhatAMaskedKeyHoldsNeverReachesAnAdditiveScore) {
  const EveryMask every_mask(kPoisoned, true);
  for (const auto& [name, mask] : every_mask.masks()) {
    expect_poison_stays_out(
        {.mask = mask, .softcap = 0.5, .attn_weights = AttnWeights::per_head},
        "additive, " + name, {.score_weight = every_mask.score_weight()});
  }
}

// Behind a mask it is not read, or what it gives is not.
TEST(MaskedTest, WhatTheBiasHoldsBehindTheMaskNeverReachesTheRow) {
  const Inputs<float> in = random_inputs(kPoisoned, 205);
  auto bias = filled<float, 2>({3, 6}, 0.5F);
  const AttentionOptions options = {
      .mask = causal(),
      .bias = dense(view_of(bias), {Axis::Lq, Axis::Lkv}),
      .attn_weights = AttnWeights::per_head};
  std::vector<std::vector<std::vector<float>>> want;
  for (std::size_t i = 0; i < 3; ++i) {
    want.push_back(rows_of_every_path(in, options, 1, 2, i));
  }
  for (const float with : kPoisons) {
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = i + 1; j < 6; ++j) {
        bias(i, j) = with;
      }
    }
    for (std::size_t i = 0; i < 3; ++i) {
      const auto got = rows_of_every_path(in, options, 1, 2, i);
      for (std::size_t path = 0; path < got.size(); ++path) {
        EXPECT_TRUE(same_bits(got[path], want[i][path]))
            << with << ", query " << i << ", path " << path;
      }
    }
  }
}

TEST(MaskedTest, ManyPoisonedKeysBehindABiasChangeNoBit) {
  const AttentionShape shape = {
      .B = 1, .Hq = 2, .Hkv = 2, .Lq = 60, .Lkv = 300, .D = 8, .Dv = 8};
  // Whole keys are masked, and others for some queries.
  auto bias = filled<float, 2>({60, 300}, 0.25F);
  for (std::size_t i = 0; i < 60; ++i) {
    for (std::size_t j = 0; j < 300; ++j) {
      if (j % 7 == 3 || (i + j) % 5 == 0) {
        bias(i, j) = kMinusInf;
      }
    }
  }
  const AttentionOptions options = {
      .bias = dense(view_of(bias), {Axis::Lq, Axis::Lkv}),
      .attn_weights = AttnWeights::per_head};
  Inputs<float> in = random_inputs(shape, 215);
  const Outputs<float> want = attend(in, options);
  for (std::size_t j = 3; j < 300; j += 7) {
    for (std::size_t h = 0; h < 2; ++h) {
      poison(in.key, 0, j, h, j % 2 == 0 ? kNaN : -kMinusInf);
      poison(in.value, 0, j, h, j % 3 == 0 ? kNaN : kMinusInf);
    }
  }
  EXPECT_TRUE(same_bits(attend(in, options), want));
}

TEST(MaskedTest, ManyPoisonedKeysBehindTheLengthsChangeNoBit) {
  const AttentionShape shape = {
      .B = 2, .Hq = 2, .Hkv = 2, .Lq = 60, .Lkv = 300, .D = 8, .Dv = 8};
  const auto lengths = tensor_of<std::int64_t, 1>({2}, {128, 131});
  const AttentionOptions options = {.mask = causal() & key_lengths(lengths),
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

// The same with whole blocks of keys before, between and behind those that
// somebody sees.
TEST(MaskedTest, ManyPoisonedKeysOutsideWindowsStartsAndDocumentsChangeNoBit) {
  const AttentionShape shape = {
      .B = 2, .Hq = 2, .Hkv = 2, .Lq = 60, .Lkv = 600, .D = 8, .Dv = 8};
  const auto starts = tensor_of<std::int64_t, 1>({2}, {140, 301});
  auto query_ids = filled<std::int64_t, 1>({60}, 2);
  auto key_ids = filled<std::int64_t, 1>({600}, 0);
  std::fill(query_ids.data() + 25, query_ids.data() + 60, 6);
  std::fill(key_ids.data() + 130, key_ids.data() + 600, 2);
  std::fill(key_ids.data() + 139, key_ids.data() + 600, 4);
  std::fill(key_ids.data() + 450, key_ids.data() + 600, 6);
  std::fill(key_ids.data() + 500, key_ids.data() + 600, 7);
  const std::vector<Mask> masks = {window(20, 7), window(40, 0),
                                   key_starts(starts),
                                   documents(query_ids, key_ids)};
  for (std::size_t m = 0; m < masks.size(); ++m) {
    SCOPED_TRACE(m);
    const AttentionOptions options = {.mask = masks[m],
                                      .query_start = 300,
                                      .attn_weights = AttnWeights::per_head};
    const auto bound =
        BoundMask::bind(masks[m], {shape, options.query_start, "test"}).value();
    Inputs<float> in = random_inputs(shape, 215);
    const Outputs<float> want = attend(in, options);
    std::size_t poisoned = 0;
    for (std::size_t b = 0; b < 2; ++b) {
      for (std::size_t j = 0; j < 600; ++j) {
        bool seen = false;
        for (std::size_t i = 0; i < 60; ++i) {
          seen = seen || bound.may_attend(b, 0, i, j);
        }
        for (std::size_t h = 0; h < 2 && !seen; ++h) {
          poison(in.key, b, j, h, j % 2 == 0 ? kNaN : -kMinusInf);
          poison(in.value, b, j, h, j % 3 == 0 ? kNaN : kMinusInf);
          ++poisoned;
        }
      }
    }
    EXPECT_GT(poisoned, 600u);
    EXPECT_TRUE(same_bits(attend(in, options), want));
  }
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

TEST(AllowedNaNTest, InABiasMakesItsRowNaNAndNoOther) {
  const Inputs<float> in = random_inputs(kSmall, 225);
  for (const float with : {kNaN, -kNaN, -kMinusInf}) {
    auto bias = filled<float, 3>({4, 5, 7}, 0);
    const AttentionOptions options = {
        .bias = dense(view_of(bias), {Axis::H, Axis::Lq, Axis::Lkv}),
        .attn_weights = AttnWeights::per_head};
    bias(3, 2, 1) = kMinusInf;
    const Outputs<float> want = attend(in, options);
    bias(3, 2, 6) = with;
    const Outputs<float> out = attend(in, options);
    for (std::size_t row = 0; row < 2 * 4 * 5; ++row) {
      const std::size_t b = row / 20;
      const std::size_t h = row / 5 % 4;
      const std::size_t i = row % 5;
      const bool is_nan = h == 3 && i == 2;
      EXPECT_EQ(bits(out.lse(b, h, i)),
                is_nan ? kNaNBits : bits(want.lse(b, h, i)));
      EXPECT_EQ(bits(out.output(b, i, h, 1)),
                is_nan ? kNaNBits : bits(want.output(b, i, h, 1)));
      EXPECT_EQ(bits(out.attn_weights(b, h, i, 0)),
                is_nan ? kNaNBits : bits(want.attn_weights(b, h, i, 0)));
      // What the bias masks has the weight 0, in a NaN row too.
      EXPECT_EQ(bits(out.attn_weights(b, h, i, 1)),
                is_nan ? 0u : bits(want.attn_weights(b, h, i, 1)));
    }
  }
}

TEST(AllowedNaNTest, UnderASoftcapInfinityIsTheCapAndNaNStays) {
  Inputs<float> in = random_inputs(kSmall, 235);
  const AttentionOptions options = {.softcap = 3.0};
  const Outputs<float> want = attend(in, options);
  in.query(0, 0, 0, 0) = -kMinusInf;
  in.query(0, 0, 1, 0) = kNaN;
  const Outputs<float> out = attend(in, options);
  EXPECT_TRUE(std::isfinite(out.lse(0, 0, 0)));
  EXPECT_EQ(bits(out.lse(0, 1, 0)), kNaNBits);
  EXPECT_EQ(bits(out.lse(0, 2, 0)), bits(want.lse(0, 2, 0)));
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
    const AttentionSteps steps = stepwise(in, options);
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

}  // namespace
}  // namespace headwise::testing_support
