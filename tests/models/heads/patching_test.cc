// Patched heads against passes that copy contexts by hand, and their
// approximation against small steps.
#include "headwise/heads/patching.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "headwise/heads/hooked_model.h"
#include "headwise/prune/remove_heads.h"
#include "models/small_model.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

const std::vector<TokenId> kClean = {2, 5, 9, 6, 3};
const std::vector<TokenId> kCorrupted = {2, 5, 11, 6, 3};
const std::vector<TokenId> kLonger = {2, 5, 11, 4, 6, 3};

class PatchingTest : public testing::Test {
 protected:
  SentenceEncoder read() {
    put_small_model(folder_, small_params(small_config(SmallFamily::bert)));
    return SentenceEncoder::read(folder_.path(), {.use = ModelUse::training})
        .value();
  }

  // By layer, (tokens, heads, 4).
  std::vector<Tensor<float, 3>> contexts(const std::vector<TokenId>& text) {
    std::vector<Tensor<float, 3>> seen(2);
    const auto model = hooked_sentences(encoder_);
    const ModelHooks hooks{
        .see = [&](std::size_t layer, TensorView<const float, 4> context) {
          const auto [B, L, H, D] = context.extents();
          seen[layer] = Tensor<float, 3>::create({L, H, D}).value();
          for (std::size_t l = 0; l < L; ++l) {
            for (std::size_t h = 0; h < H; ++h) {
              for (std::size_t d = 0; d < D; ++d) {
                seen[layer](l, h, d) = context(0, l, h, d);
              }
            }
          }
          return ok();
        }};
    EXPECT_TRUE(model->hidden({text}, {.hooks = hooks}));
    return seen;
  }
  // The outputs of the clean text with some of a head's context `share` of the
  // way to other ones.
  std::vector<float> outputs_with(const HookedModel& model, std::size_t layer,
                                  std::size_t h, std::size_t begin,
                                  std::size_t end, float share,
                                  const Tensor<float, 3>& other) {
    const ModelHooks hooks{.edit = [&](std::size_t at,
                                       const HeadContext& heads) {
      for (std::size_t l = begin; at == layer && l < end; ++l) {
        for (std::size_t d = 0; d < 4; ++d) {
          float& x = heads.context(0, l, h, d);
          x = share == 1 ? other(l, h, d) : x + share * (other(l, h, d) - x);
        }
      }
      return ok();
    }};
    const auto hidden = model.hidden({kClean}, {.hooks = hooks}).value();
    const auto outputs =
        model.outputs({kClean}, hidden.view(), nullptr).value();
    return {outputs.data(), outputs.data() + outputs.size()};
  }
  std::vector<float> plain_outputs(const HookedModel& model,
                                   const std::vector<TokenId>& text) {
    const auto hidden = model.hidden({text}, {}).value();
    const auto outputs = model.outputs({text}, hidden.view(), nullptr).value();
    return {outputs.data(), outputs.data() + outputs.size()};
  }

  TempFolder folder_;
  SentenceEncoder encoder_ = read();
  LabelProbe probe_ =
      LabelProbe::create(Linear::from_params(uniform<2>({3, 12}, 900, -2, 2),
                                             uniform<1>({3}, 901))
                             .value(),
                         {"a", "b", "c"})
          .value();
};

double log_odds_by_hand(const std::vector<float>& logits, std::size_t label) {
  double others = 0;
  for (std::size_t c = 0; c < logits.size(); ++c) {
    others += c == label ? 0 : std::exp(static_cast<double>(logits[c]));
  }
  return static_cast<double>(logits[label]) - std::log(others);
}

TEST_F(PatchingTest, AnEffectIsThatOfACopiedContext) {
  const auto model = hooked_sentences(encoder_, &probe_);
  const PatchEffects got =
      patch_heads({*model, kClean, kCorrupted, log_odds(1)}).value();
  const auto other = contexts(kCorrupted);
  EXPECT_EQ(got.label, 1);
  EXPECT_NEAR(got.clean, log_odds_by_hand(plain_outputs(*model, kClean), 1),
              1e-12);
  EXPECT_NEAR(got.corrupted,
              log_odds_by_hand(plain_outputs(*model, kCorrupted), 1), 1e-12);
  for (std::size_t n = 0; n < 2; ++n) {
    ASSERT_EQ(got.heads[n].size(), 3);
    ASSERT_EQ(got.positions[n].extents(), (Extents<2>{3, 5}));
    for (std::size_t h = 0; h < 3; ++h) {
      const auto effect = [&](std::size_t begin, std::size_t end) {
        return log_odds_by_hand(
                   outputs_with(*model, n, h, begin, end, 1, other[n]), 1) -
               got.clean;
      };
      EXPECT_NEAR(got.heads[n][h], effect(0, 5), 1e-12);
      for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_NEAR(got.positions[n](h, i), effect(i, i + 1), 1e-12);
      }
    }
  }
}

TEST_F(PatchingTest, EmbeddingsMoveFromZeroToOne) {
  const auto model = hooked_sentences(encoder_);
  const PatchEffects got =
      patch_heads({*model, kClean, kCorrupted, toward_corrupted()}).value();
  EXPECT_FALSE(got.label);
  EXPECT_EQ(got.clean, 0);
  EXPECT_NEAR(got.corrupted, 1, 1e-12);
  const auto e_0 = plain_outputs(*model, kClean);
  const auto e_1 = plain_outputs(*model, kCorrupted);
  const auto e = outputs_with(*model, 1, 2, 0, 5, 1, contexts(kCorrupted)[1]);
  double along = 0;
  double length = 0;
  for (std::size_t n = 0; n < e.size(); ++n) {
    const double way =
        static_cast<double>(e_1[n]) - static_cast<double>(e_0[n]);
    along += (static_cast<double>(e[n]) - static_cast<double>(e_0[n])) * way;
    length += way * way;
  }
  EXPECT_NEAR(got.heads[1][2], along / length, 1e-12);
}

TEST_F(PatchingTest, TheApproximationIsTheSlopeOfAPatch) {
  const auto model = hooked_sentences(encoder_, &probe_);
  const PatchTask task{*model, kClean, kCorrupted, log_odds(0)};
  const PatchEffects got = approximate_patches(task).value();
  const auto other = contexts(kCorrupted);
  constexpr float kStep = 0x1p-6f;
  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t h = 0; h < 3; ++h) {
      double sum = 0;
      for (std::size_t i = 0; i < 5; ++i) {
        const auto at = [&](float share) {
          return log_odds_by_hand(
              outputs_with(*model, n, h, i, i + 1, share, other[n]), 0);
        };
        EXPECT_NEAR(got.positions[n](h, i),
                    (at(kStep) - at(-kStep)) / (2 * kStep), 1e-3);
        sum += got.positions[n](h, i);
      }
      EXPECT_NEAR(got.heads[n][h], sum, 1e-12);
    }
  }
  const PatchEffects exact = patch_heads(task).value();
  EXPECT_EQ(got.clean, exact.clean);
  EXPECT_EQ(got.corrupted, exact.corrupted);
  EXPECT_GT(correlation(exact, got), 0.5);
  EXPECT_DOUBLE_EQ(correlation(exact, exact), 1);
}

TEST_F(PatchingTest, TheApproximationTakesOnePassThereAndBack) {
  class Counted final : public HookedModel {
   public:
    explicit Counted(std::unique_ptr<HookedModel> inner)
        : inner_(std::move(inner)) {}
    std::vector<std::vector<std::size_t>> heads() const override {
      return inner_->heads();
    }
    bool causal() const override { return false; }
    Result<Tensor<float, 2>> hidden(const RaggedTokens& ids,
                                    const ModelPass& pass) const override {
      forward_.insert(forward_.end(), ids.begin(), ids.end());
      return inner_->hidden(ids, pass);
    }
    Result<Tensor<float, 2>> outputs(const RaggedTokens& ids,
                                     TensorView<const float, 2> hidden,
                                     const Executor* executor) const override {
      return inner_->outputs(ids, hidden, executor);
    }
    Status differentiate(const RaggedTokens& ids, const ModelPass& pass,
                         OutputGradient d_outputs) const override {
      back_.insert(back_.end(), ids.begin(), ids.end());
      return inner_->differentiate(ids, pass, d_outputs);
    }

    mutable RaggedTokens forward_;
    mutable RaggedTokens back_;

   private:
    std::unique_ptr<HookedModel> inner_;
  };
  const Counted model(hooked_sentences(encoder_));
  ASSERT_TRUE(
      approximate_patches({model, kClean, kCorrupted, toward_corrupted()}));
  EXPECT_EQ(model.forward_, RaggedTokens{kCorrupted});
  EXPECT_EQ(model.back_, RaggedTokens{kClean});
}

TEST_F(PatchingTest, TextsOfOtherLengthsShareTheTokensAroundTheDifference) {
  const auto model = hooked_sentences(encoder_);
  const PatchEffects got =
      patch_heads({*model, kClean, kLonger, toward_corrupted()}).value();
  EXPECT_TRUE(got.positions.empty());
  const auto other = contexts(kLonger);
  auto mixed = Tensor<float, 3>::create({5, 3, 4}).value();
  for (std::size_t at = 0; at < 12; ++at) {
    const std::size_t h = at / 4;
    const std::size_t d = at % 4;
    const auto from = [&](std::size_t l) { return other[0](l, h, d); };
    mixed(0, h, d) = from(0);
    mixed(1, h, d) = from(1);
    mixed(2, h, d) = static_cast<float>(
        (static_cast<double>(from(2)) + static_cast<double>(from(3))) / 2);
    mixed(3, h, d) = from(4);
    mixed(4, h, d) = from(5);
  }
  const auto measure = toward_corrupted()(plain_outputs(*model, kClean),
                                          plain_outputs(*model, kLonger))
                           .value();
  EXPECT_EQ(got.heads[0][1],
            measure.value(outputs_with(*model, 0, 1, 0, 5, 1, mixed)));
  EXPECT_TRUE(
      approximate_patches({*model, kClean, kLonger, toward_corrupted()}));
}

TEST_F(PatchingTest, APrunedModelIsPatchedToo) {
  const std::vector<HeadId> gone = {{0, 0}, {0, 1}, {0, 2}, {1, 1}};
  ASSERT_TRUE(remove_heads(encoder_.encoder(), gone, ConstantPart::dropped));
  const auto model = hooked_sentences(encoder_);
  const PatchTask task{*model, kClean, kCorrupted, toward_corrupted()};
  const PatchEffects exact = patch_heads(task).value();
  const PatchEffects fast = approximate_patches(task).value();
  for (const PatchEffects* effects : {&exact, &fast}) {
    EXPECT_TRUE(effects->heads[0].empty());
    EXPECT_EQ(effects->heads[1].size(), 2);
  }
  EXPECT_NE(exact.heads[1][0], 0);
}

TEST_F(PatchingTest, NoBitDependsOnThreads) {
  const auto model = hooked_sentences(encoder_, &probe_);
  const PatchTask task{*model, kClean, kCorrupted, log_odds()};
  const Executor one = Executor::with_threads(1).value();
  const Executor two = Executor::with_threads(2).value();
  const auto a = patch_heads(task, {.executor = &one}).value();
  const auto b = patch_heads(task, {.executor = &two}).value();
  EXPECT_EQ(a.heads, b.heads);
  EXPECT_TRUE(
      std::ranges::equal(a.positions[1].elements(), b.positions[1].elements()));
  EXPECT_EQ(approximate_patches(task, {.executor = &one}).value().heads,
            approximate_patches(task, {.executor = &two}).value().heads);
}

// Of a model in whose outputs a token is NaN, as an overflow makes it.
class Overflowing final : public HookedModel {
 public:
  Overflowing(const HookedModel& model, TokenId token)
      : model_(model), token_(token) {}
  std::vector<std::vector<std::size_t>> heads() const override {
    return model_.heads();
  }
  bool causal() const override { return model_.causal(); }
  Result<Tensor<float, 2>> hidden(const RaggedTokens& ids,
                                  const ModelPass& pass) const override {
    return model_.hidden(ids, pass);
  }
  Result<Tensor<float, 2>> outputs(const RaggedTokens& ids,
                                   TensorView<const float, 2> hidden,
                                   const Executor* executor) const override {
    auto outputs = model_.outputs(ids, hidden, executor);
    for (std::size_t n = 0; n < ids.size(); ++n) {
      spoil(ids[n], (*outputs)(n, 1));
    }
    return outputs;
  }
  Status differentiate(const RaggedTokens& ids, const ModelPass& pass,
                       OutputGradient d_outputs) const override {
    return model_.differentiate(ids, pass, [&](const Tensor<float, 2>& given) {
      auto outputs = given.clone().value();
      spoil(ids[0], outputs(0, 1));
      return d_outputs(outputs);
    });
  }

 private:
  void spoil(const std::vector<TokenId>& text, float& output) const {
    if (std::ranges::count(text, token_) != 0) {
      output = std::numeric_limits<float>::quiet_NaN();
    }
  }

  const HookedModel& model_;
  TokenId token_;
};

TEST_F(PatchingTest, OutputsThatAreNotFiniteAreRefused) {
  const auto model = hooked_sentences(encoder_, &probe_);
  // Of the clean text, and of the corrupted one.
  for (const TokenId token : {9, 11}) {
    const Overflowing bad(*model, token);
    for (const MeasureOfTexts& measure : {log_odds(), toward_corrupted()}) {
      const PatchTask task{bad, kClean, kCorrupted, measure};
      for (const auto& effects :
           {patch_heads(task), approximate_patches(task)}) {
        EXPECT_THAT(effects, HasError({.code = ErrorCode::bad_data,
                                       .operation = "patch",
                                       .argument = "model",
                                       .given = {"NaN"}}));
      }
    }
  }
}

TEST_F(PatchingTest, WhatCannotBePatchedIsSaid) {
  const auto model = hooked_sentences(encoder_, &probe_);
  EXPECT_THAT(patch_heads({*model, kClean, kCorrupted, log_odds(3)}),
              HasError({.code = ErrorCode::out_of_range,
                        .operation = "patch",
                        .argument = "label",
                        .given = {"3"},
                        .expected = {"3"}}));
  EXPECT_THAT(patch_heads({*model, kClean, kClean, toward_corrupted()}),
              HasError({.code = ErrorCode::invalid_argument,
                        .operation = "patch",
                        .argument = "corrupted"}));
  EXPECT_THAT(patch_heads({*model, {}, kClean, toward_corrupted()}),
              HasError({.code = ErrorCode::invalid_argument,
                        .operation = "patch",
                        .argument = "clean"}));
  const auto untrained = SentenceEncoder::read(folder_.path()).value();
  const auto inference = hooked_sentences(untrained);
  EXPECT_THAT(
      approximate_patches({*inference, kClean, kCorrupted, toward_corrupted()}),
      HasError({.code = ErrorCode::unsupported, .operation = "transformer"}));
}

}  // namespace
}  // namespace headwise::testing_support
