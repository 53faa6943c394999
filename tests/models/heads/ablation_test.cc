// Ablated heads against the encoder in double, and against gates.
#include "headwise/heads/ablation.h"

#include <cmath>
#include <utility>
#include <vector>

#include "headwise/heads/hooked_model.h"
#include "headwise/prune/remove_heads.h"
#include "headwise/prune/sentence_importance.h"
#include "models/bert_reference.h"
#include "models/small_model.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

using testing::DoubleNear;

const RaggedTokens kIds = {
    {2, 5, 9, 3}, {2, 3}, {2, 13, 0, 1, 5, 6, 7, 8, 3}, {2, 11, 4, 3}};
const std::vector<std::int64_t> kTargets = {2, 0, 1, 2};

class AblationTest : public testing::Test {
 protected:
  AblationTest() { EXPECT_EQ(encoder_.embedding_size(), 12); }

  SentenceEncoder read() {
    put_small_model(folder_, small_params(small_config(SmallFamily::bert)));
    return SentenceEncoder::read(folder_.path(), {.use = ModelUse::training})
        .value();
  }
  AblationScores labelled(const std::vector<HeadSet>& sets,
                          const AblationOptions& options = {}) {
    const auto model = hooked_sentences(encoder_, &probe_);
    auto scores =
        ablate({*model, kIds, label_scores(*model, kTargets)}, sets, options);
    EXPECT_TRUE(scores) << scores.error().message();
    return *std::move(scores);
  }
  // The losses under gates of 0.
  std::vector<double> gated(const HeadSet& off) {
    std::vector<Tensor<float, 1>> gates;
    for (std::size_t n = 0; n < 2; ++n) {
      const auto heads = encoder_.encoder().heads_in(n);
      gates.push_back(filled<float, 1>({heads.size()}, 1));
      for (std::size_t at = 0; at < heads.size(); ++at) {
        for (const HeadId& id : off) {
          gates[n](at) = id == HeadId{n, heads[at]} ? 0 : gates[n](at);
        }
      }
    }
    return classification_losses(encoder_, probe_, kIds, kTargets)
        .losses(0, kIds.size(), gates)
        .value();
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

TEST_F(AblationTest, ZeroHasTheBitsOfAGateOfZero) {
  const std::vector<HeadSet> sets = {
      {{0, 1}}, {{1, 2}}, {{1, 2}, {0, 1}}, {{1, 0}, {1, 2}}, {{0, 1}}};
  const AblationScores scores = labelled(sets);
  EXPECT_EQ(scores.whole.loss, gated({}));
  for (std::size_t n = 0; n < sets.size(); ++n) {
    EXPECT_EQ(scores.ablated[n].loss, gated(sets[n])) << n;
  }
}

TEST_F(AblationTest, APrunedModelHasItsHeadsUnderTheirNumbers) {
  const HeadSet gone = {{0, 0}, {1, 1}};
  ASSERT_TRUE(remove_heads(encoder_.encoder(), gone, ConstantPart::dropped));
  const std::vector<HeadSet> sets = {{{0, 2}}, {{0, 1}, {1, 2}}};
  const AblationScores scores = labelled(sets);
  EXPECT_EQ(scores.ablated[0].loss, gated(sets[0]));
  EXPECT_EQ(scores.ablated[1].loss, gated(sets[1]));
  const auto model = hooked_sentences(encoder_, &probe_);
  EXPECT_THAT(
      ablate({*model, kIds, label_scores(*model, kTargets)}, {{{1, 1}}}),
      HasError({.code = ErrorCode::out_of_range,
                .operation = "ablate",
                .argument = "heads",
                .given = {"1.1"}}));
}

TEST_F(AblationTest, ALayerWithoutHeadsIsPassed) {
  const HeadSet gone = {{0, 0}, {0, 1}, {0, 2}};
  ASSERT_TRUE(remove_heads(encoder_.encoder(), gone, ConstantPart::dropped));
  for (const Replacement by :
       {Replacement::zero, Replacement::mean, Replacement::uniform}) {
    const auto scores = labelled({{{1, 0}}}, {.replacement = by});
    EXPECT_NE(scores.ablated[0].loss, scores.whole.loss);
  }
}

// The first layer's contexts, in double, from what enters it.
class FirstLayer {
 public:
  explicit FirstLayer(const SentenceEncoder& encoder)
      : encoder_(encoder.encoder()) {}

  // (rows, 12): the values, from the layer's input.
  Tensor<double, 2> values() const {
    const auto x = encoder_.hidden(kIds, {.before_layer = 0}).value();
    const Linear& w_v = *encoder_.attention(0).params()->w_v;
    auto v = Tensor<double, 2>::create({x.extent(0), 12}).value();
    for (std::size_t row = 0; row < x.extent(0); ++row) {
      for (std::size_t o = 0; o < 12; ++o) {
        v(row, o) = static_cast<double>(w_v.bias()(o));
        for (std::size_t e = 0; e < 12; ++e) {
          v(row, o) += static_cast<double>(w_v.weight()(o, e)) *
                       static_cast<double>(x(row, e));
        }
      }
    }
    return v;
  }
  Tensor<float, 4> context() const {
    Tensor<float, 4> seen;
    (void)encoder_.hidden(
        kIds, {.hooks = {.see = [&](std::size_t layer,
                                    TensorView<const float, 4> context) {
                 if (layer == 0) {
                   const auto [B, rows, H, D] = context.extents();
                   seen = Tensor<float, 4>::create({B, rows, H, D}).value();
                   for (std::size_t at = 0; at < seen.size(); ++at) {
                     seen.data()[at] =
                         context(0, at / (H * D), at / D % H, at % D);
                   }
                 }
                 return ok();
               }}});
    return seen;
  }

 private:
  const Transformer& encoder_;
};

// What a pass shows of head 1 of layer 0 after its replacement.
Tensor<float, 2> replaced_context(const SentenceEncoder& encoder,
                                  Replacement by, bool causal = false) {
  // A model that shows what the hook left.
  class Seen final : public HookedModel {
   public:
    Seen(const SentenceEncoder& of, bool causal)
        : inner_(hooked_sentences(of)), causal_(causal) {}
    std::vector<std::vector<std::size_t>> heads() const override {
      return inner_->heads();
    }
    bool causal() const override { return causal_; }
    Result<Tensor<float, 2>> hidden(const RaggedTokens& ids,
                                    const ModelPass& pass) const override {
      ModelPass seen = pass;
      seen.hooks.see = [&](HookPlace at,
                           TensorView<const float, 4> context) -> Status {
        if (pass.hooks.see) {
          HEADWISE_TRY(pass.hooks.see(at, context));
        }
        if (at.layer == 0 && pass.from) {
          context_ = Tensor<float, 2>::create({context.extent(1), 4}).value();
          for (std::size_t row = 0; row < context.extent(1); ++row) {
            for (std::size_t d = 0; d < 4; ++d) {
              context_(row, d) = context(0, row, 1, d);
            }
          }
        }
        return ok();
      };
      return inner_->hidden(ids, seen);
    }
    Result<Tensor<float, 2>> outputs(const RaggedTokens& ids,
                                     TensorView<const float, 2> hidden,
                                     const Executor* executor) const override {
      return inner_->outputs(ids, hidden, executor);
    }
    Status differentiate(const RaggedTokens&, const ModelPass&,
                         OutputGradient) const override {
      return ok();
    }

    mutable Tensor<float, 2> context_;

   private:
    std::unique_ptr<HookedModel> inner_;
    bool causal_;
  };
  Seen model(encoder, causal);
  EXPECT_TRUE(ablate({model, kIds, output_distances(model)}, {{{0, 1}}},
                     {.replacement = by}));
  return std::move(model.context_);
}

TEST_F(AblationTest, UniformIsTheMeanOfTheValuesOfEachSequence) {
  const auto values = FirstLayer(encoder_).values();
  const auto got = replaced_context(encoder_, Replacement::uniform);
  std::size_t begin = 0;
  for (const auto& sequence : kIds) {
    for (std::size_t d = 0; d < 4; ++d) {
      double mean = 0;
      for (std::size_t i = 0; i < sequence.size(); ++i) {
        mean += values(begin + i, 4 + d) / static_cast<double>(sequence.size());
      }
      for (std::size_t i = 0; i < sequence.size(); ++i) {
        EXPECT_NEAR(got(begin + i, d), mean, 1e-5);
      }
    }
    begin += sequence.size();
  }
}

TEST_F(AblationTest, UnderACausalMaskUniformIsTheMeanOfTheValuesSoFar) {
  const auto values = FirstLayer(encoder_).values();
  const auto got =
      replaced_context(encoder_, Replacement::uniform, /*causal=*/true);
  std::size_t begin = 0;
  for (const auto& sequence : kIds) {
    for (std::size_t d = 0; d < 4; ++d) {
      double sum = 0;
      for (std::size_t i = 0; i < sequence.size(); ++i) {
        sum += values(begin + i, 4 + d);
        EXPECT_NEAR(got(begin + i, d), sum / static_cast<double>(i + 1), 1e-5);
      }
    }
    begin += sequence.size();
  }
}

TEST_F(AblationTest, RepeatedDataHasTheSameMean) {
  RaggedTokens often;
  for (std::size_t n = 0; n < 200; ++n) {
    often.push_back(kIds[n % 4]);
  }
  const auto model = hooked_sentences(encoder_);
  const auto losses = [&](const RaggedTokens& ids) {
    return ablate({*model, ids, output_distances(*model)}, {{{0, 1}}},
                  {.replacement = Replacement::mean})
        .value()
        .ablated[0]
        .loss;
  };
  const auto once = losses(kIds);
  const auto all = losses(often);
  for (std::size_t n = 0; n < all.size(); ++n) {
    EXPECT_NEAR(all[n], once[n % 4], 1e-6);
  }
}

TEST_F(AblationTest, MeanIsThatOverAllTokensOfTheData) {
  const auto context = FirstLayer(encoder_).context();
  const auto got = replaced_context(encoder_, Replacement::mean);
  for (std::size_t d = 0; d < 4; ++d) {
    double mean = 0;
    for (std::size_t row = 0; row < context.extent(1); ++row) {
      mean += static_cast<double>(context(0, row, 1, d)) /
              static_cast<double>(context.extent(1));
    }
    for (std::size_t row = 0; row < got.extent(0); ++row) {
      EXPECT_NEAR(got(row, d), mean, 1e-6);
    }
  }
}

TEST_F(AblationTest, NoBitDependsOnThreadsOrOnWhatElseIsAblated) {
  // Enough for six batches.
  RaggedTokens ids;
  std::vector<std::int64_t> targets;
  for (std::size_t n = 0; n < 600; ++n) {
    ids.push_back(kIds[n % 4]);
    targets.push_back(static_cast<std::int64_t>(n % 3));
  }
  const auto model = hooked_sentences(encoder_, &probe_);
  const AblationTask task{*model, ids, label_scores(*model, targets)};
  const Executor one = Executor::with_threads(1).value();
  const Executor two = Executor::with_threads(2).value();
  for (const Replacement by :
       {Replacement::zero, Replacement::mean, Replacement::uniform}) {
    const auto alone =
        ablate(task, {{{1, 1}}}, {.replacement = by, .executor = &one}).value();
    const auto among = ablate(task, {{{0, 0}}, {{0, 0}, {1, 1}}, {{1, 1}}},
                              {.replacement = by, .executor = &two})
                           .value();
    EXPECT_EQ(alone.whole.loss, among.whole.loss);
    EXPECT_EQ(alone.ablated[0].loss, among.ablated[2].loss);
    EXPECT_EQ(alone.ablated[0].correct, among.ablated[2].correct);
  }
}

TEST_F(AblationTest, WithoutLabelsOutputsMove) {
  const auto model = hooked_sentences(encoder_);
  const auto scores =
      ablate({*model, kIds, output_distances(*model)}, {{{0, 1}}}).value();
  EXPECT_THAT(scores.whole.loss, testing::Each(0.0));
  EXPECT_TRUE(scores.whole.correct.empty());
  const ModelHooks zero{
      .edit = [](std::size_t layer, const HeadContext& heads) {
        for (std::size_t row = 0; layer == 0 && row < heads.context.extent(1);
             ++row) {
          for (std::size_t d = 0; d < 4; ++d) {
            heads.context(0, row, 1, d) = 0;
          }
        }
        return ok();
      }};
  const auto hidden = model->hidden(kIds, {}).value();
  const auto hidden_without = model->hidden(kIds, {.hooks = zero}).value();
  const auto whole = model->outputs(kIds, hidden.view(), nullptr).value();
  const auto moved =
      model->outputs(kIds, hidden_without.view(), nullptr).value();
  for (std::size_t n = 0; n < kIds.size(); ++n) {
    double by = 0;
    double length = 0;
    for (std::size_t e = 0; e < 12; ++e) {
      by += std::pow(
          static_cast<double>(moved(n, e)) - static_cast<double>(whole(n, e)),
          2);
      length += std::pow(static_cast<double>(whole(n, e)), 2);
    }
    EXPECT_THAT(scores.ablated[0].loss[n],
                DoubleNear(std::sqrt(by / length), 1e-12));
  }
}

TEST(AblationEffectTest, EffectsArePairedByExample) {
  const ExampleScores whole{{1, 2, 3}, {1, 0, 1}};
  const ExampleScores first{{2, 2, 4}, {0, 0, 1}};
  const ExampleScores second{{1, 3, 3}, {1, 0, 0}};
  const ExampleScores both{{2, 3, 5}, {0, 0, 0}};
  const AblationEffect effect = effect_of(whole, first);
  EXPECT_DOUBLE_EQ(effect.loss.mean, 2.0 / 3);
  EXPECT_EQ(effect.loss.count, 3);
  EXPECT_DOUBLE_EQ(effect.accuracy->mean, -1.0 / 3);
  const AblationEffect more = interaction_of(whole, first, second, both);
  EXPECT_DOUBLE_EQ(more.loss.mean, 1.0 / 3);
  EXPECT_DOUBLE_EQ(more.accuracy->mean, 0);
  EXPECT_FALSE(effect_of({{1}, {}}, {{2}, {}}).accuracy);
}

TEST_F(AblationTest, SetsThatMakeNoSenseAreRefused) {
  const auto model = hooked_sentences(encoder_, &probe_);
  const AblationTask task{*model, kIds, label_scores(*model, kTargets)};
  EXPECT_THAT(ablate(task, {{{0, 1}}, {}}),
              HasError({.code = ErrorCode::invalid_argument,
                        .operation = "ablate",
                        .argument = "heads"}));
  EXPECT_THAT(ablate(task, {{{0, 1}, {0, 1}}}),
              HasError({.code = ErrorCode::invalid_argument,
                        .operation = "ablate",
                        .argument = "heads",
                        .given = {"0.1"}}));
  for (const HeadId id : {HeadId{2, 0}, HeadId{0, 3}}) {
    EXPECT_THAT(ablate(task, {{id}}), HasError({.code = ErrorCode::out_of_range,
                                                .operation = "ablate",
                                                .argument = "heads"}));
  }
  EXPECT_THAT(ablate({*model, {}, task.scores}, {{{0, 1}}}),
              HasError({.code = ErrorCode::invalid_argument,
                        .operation = "ablate",
                        .argument = "ids"}));
  EXPECT_THAT(ablate({*model, RaggedTokens(5001, {2, 3}), task.scores},
                     std::vector<HeadSet>(10000, HeadSet{{0, 1}})),
              HasError({.code = ErrorCode::invalid_argument,
                        .operation = "ablate",
                        .argument = "ids",
                        .given = {"5001", "10000"}}));
  const std::vector<std::int64_t> few = {1};
  EXPECT_THAT(ablate({*model, kIds, label_scores(*model, few)}, {{{0, 1}}}),
              HasError({.code = ErrorCode::shape_mismatch,
                        .operation = "label_scores",
                        .argument = "targets"}));
}

TEST(ReplacementTest, NamesAreThoseOfTheCommand) {
  for (const std::string_view name : kReplacementNames) {
    EXPECT_EQ(name_of(*replacement(name)), name);
  }
  EXPECT_FALSE(replacement("none"));
}

}  // namespace
}  // namespace headwise::testing_support
