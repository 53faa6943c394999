// Losses of sentences under gates, and the importance that follows from them,
// against the encoder in double.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "headwise/prune/remove_heads.h"
#include "headwise/prune/sentence_importance.h"
#include "models/bert_reference.h"
#include "models/small_model.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

using Rows = BertReference::Rows;
using Vector = std::vector<double>;

const RaggedTokens kIds = {
    {2, 5, 9, 3}, {2, 3}, {2, 13, 0, 1, 5, 6, 7, 8, 3}, {2, 11, 4, 3}};
const std::vector<std::int64_t> kTargets = {2, 0, 1, 2};

struct Setting {
  std::string name;
  bool normalize;  // [CLS] and the mean, divided by their length; else the mean
  std::vector<HeadId> gone;
};

class SentenceLossesTest : public testing::TestWithParam<Setting> {
 protected:
  SentenceLossesTest() {
    const Status s = remove_heads(encoder_.encoder(), GetParam().gone,
                                  ConstantPart::dropped);
    EXPECT_TRUE(s) << s.error().message();
    for (std::size_t n = 0; n < 2; ++n) {
      heads_.push_back(encoder_.encoder().heads_in(n));
    }
  }

  SentenceEncoder written() {
    put_small_model(folder_, params_);
    if (GetParam().normalize) {
      std::filesystem::create_directory(folder_ / "1_Pooling");
      put_file(folder_ / "1_Pooling/config.json",
               bytes_of(R"({"word_embedding_dimension": 12,
                            "pooling_mode_cls_token": true,
                            "pooling_mode_mean_tokens": true})"));
      put_file(folder_ / "modules.json",
               bytes_of(modules_text("Transformer", "Pooling", "Normalize")));
    }
    return read();
  }
  SentenceEncoder read(ModelUse use = ModelUse::training) {
    auto made = SentenceEncoder::read(folder_.path(), {.use = use});
    EXPECT_TRUE(made) << made.error().message();
    return *std::move(made);
  }
  GatedModel classification() {
    return classification_losses(encoder_, probe_, kIds, kTargets);
  }

  // ---- In double, under a gate for each of all six heads. ----

  Rows all_on() const {
    Rows gates(2, Vector(3, 1));
    for (const HeadId& id : GetParam().gone) {
      gates[id.layer][id.head] = 0;
    }
    return gates;
  }
  Rows hidden(std::size_t x, const Rows& gates,
              std::vector<std::vector<Rows>>* attn_weights = nullptr) const {
    BertReference reference(config_, params_);
    reference.set_gates(gates);
    return reference.forward(kIds[x], attn_weights);
  }
  Vector embedding(std::size_t x, const Rows& gates) const {
    const Rows tokens = hidden(x, gates);
    Vector mean(12);
    for (const Vector& token : tokens) {
      for (std::size_t e = 0; e < 12; ++e) {
        mean[e] += token[e] / static_cast<double>(tokens.size());
      }
    }
    if (!GetParam().normalize) {
      return mean;
    }
    Vector both = tokens[0];
    both.insert(both.end(), mean.begin(), mean.end());
    double squares = 0;
    for (const double value : both) {
      squares += value * value;
    }
    for (double& value : both) {
      value /= std::sqrt(squares);
    }
    return both;
  }
  double cross_entropy_of(std::size_t x, const Rows& gates) const {
    const Vector e = embedding(x, gates);
    Vector logits(3);
    double sum = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      logits[c] = probe_.linear().bias()(c);
      for (std::size_t n = 0; n < e.size(); ++n) {
        logits[c] += static_cast<double>(probe_.linear().weight()(c, n)) * e[n];
      }
      sum += std::exp(logits[c]);
    }
    return std::log(sum) - logits[static_cast<std::size_t>(kTargets[x])];
  }
  // By layer and head, of the rows of attention weights: the mean entropy, and
  // the mean of the largest.
  std::pair<Rows, Rows> means_of(std::size_t x, const Rows& gates) const {
    std::vector<std::vector<Rows>> weights;
    hidden(x, gates, &weights);
    const auto L = static_cast<double>(kIds[x].size());
    Rows entropy(2, Vector(3));
    Rows largest(2, Vector(3));
    for (std::size_t n = 0; n < 2; ++n) {
      for (std::size_t h = 0; h < 3; ++h) {
        for (const Vector& row : weights[n][h]) {
          largest[n][h] += *std::ranges::max_element(row) / L;
          for (const double p : row) {
            entropy[n][h] -= p * std::log(p) / L;
          }
        }
      }
    }
    return {entropy, largest};
  }
  // By the head's number, of a loss of its gates.
  static double slope(const std::function<double(const Rows&)>& loss,
                      const Rows& gates, const HeadId& id) {
    constexpr double kStep = 1e-4;
    Rows moved = gates;
    moved[id.layer][id.head] += kStep;
    const double high = loss(moved);
    moved[id.layer][id.head] -= 2 * kStep;
    return (high - loss(moved)) / (2 * kStep);
  }
  // Calls body(id, its place in the layer) for the heads that are there.
  template <class Body>
  void for_each_head(const Body& body) const {
    for (std::size_t n = 0; n < 2; ++n) {
      for (std::size_t at = 0; at < heads_[n].size(); ++at) {
        body(HeadId{n, heads_[n][at]}, at);
      }
    }
  }
  std::vector<Tensor<float, 1>> gates_of(const Rows& gates) const {
    std::vector<Tensor<float, 1>> tensors;
    for (std::size_t n = 0; n < 2; ++n) {
      auto& made = tensors.emplace_back(
          Tensor<float, 1>::create({heads_[n].size()}).value());
      for (std::size_t at = 0; at < heads_[n].size(); ++at) {
        made(at) = static_cast<float>(gates[n][heads_[n][at]]);
      }
    }
    return tensors;
  }
  // Gates that are exact in binary32; heads that are gone stay off.
  Rows some_gates() const {
    Rows gates = {{1, 0.5, -1}, {0.25, 1, 2}};
    for (const HeadId& id : GetParam().gone) {
      gates[id.layer][id.head] = 0;
    }
    return gates;
  }

  TempFolder folder_;
  SmallConfig config_ = small_config(SmallFamily::bert);
  Params params_ = small_params(config_);
  SentenceEncoder encoder_ = written();
  LabelProbe probe_ =
      LabelProbe::create(
          Linear::from_params(uniform<2>({3, encoder_.embedding_size()}, 70),
                              uniform<1>({3}, 71))
              .value(),
          {"sport", "tech", "art"})
          .value();
  std::vector<std::vector<std::size_t>> heads_;
};

std::vector<std::vector<double>> scores_of(const GatedModel& model,
                                           ImportanceMethod method,
                                           std::size_t batch) {
  auto run =
      ImportanceRun::create(model, {.method = method, .batch = batch}).value();
  while (run.done() < run.steps()) {
    const Status s = run.step();
    if (!s) {
      ADD_FAILURE() << s.error().message();
      break;
    }
  }
  return run.result().scores;
}

TEST_P(SentenceLossesTest, GradientScoresAreDifferencesOfTheLossInDouble) {
  Rows slopes(2, Vector(3));
  Rows squares(2, Vector(3));
  Vector norms(2);
  for_each_head([&](const HeadId& id, std::size_t) {
    for (std::size_t x = 0; x < kIds.size(); ++x) {
      const double g =
          slope([&](const Rows& gates) { return cross_entropy_of(x, gates); },
                all_on(), id);
      slopes[id.layer][id.head] += std::abs(g) / 4;
      squares[id.layer][id.head] += g * g / 4;
    }
    norms[id.layer] += std::pow(slopes[id.layer][id.head], 2);
  });
  const auto gradient =
      scores_of(classification(), ImportanceMethod::gradient, 3);
  const auto fisher = scores_of(classification(), ImportanceMethod::fisher, 3);
  for_each_head([&](const HeadId& id, std::size_t at) {
    const auto [n, h] = id;
    EXPECT_NEAR(gradient[n][at], slopes[n][h] / std::sqrt(norms[n]), 1e-4);
    EXPECT_NEAR(fisher[n][at], squares[n][h], 1e-4);
  });
}

TEST_P(SentenceLossesTest, AblationIsTheLossWithoutEachHeadInDouble) {
  const auto scores =
      scores_of(classification(), ImportanceMethod::ablation, 3);
  for_each_head([&](const HeadId& id, std::size_t at) {
    Rows without = all_on();
    without[id.layer][id.head] = 0;
    double more = 0;
    for (std::size_t x = 0; x < kIds.size(); ++x) {
      more +=
          (cross_entropy_of(x, without) - cross_entropy_of(x, all_on())) / 4;
    }
    EXPECT_NEAR(scores[id.layer][at], more, 1e-5);
  });
}

TEST_P(SentenceLossesTest, EntropyAndConfidenceAreThoseOfTheAttentionWeights) {
  Rows entropy(2, Vector(3));
  Rows largest(2, Vector(3));
  for (std::size_t x = 0; x < kIds.size(); ++x) {
    const auto [nats, most] = means_of(x, all_on());
    for (std::size_t n = 0; n < 2; ++n) {
      for (std::size_t h = 0; h < 3; ++h) {
        entropy[n][h] += nats[n][h] / 4;
        largest[n][h] += most[n][h] / 4;
      }
    }
  }
  const auto less = scores_of(classification(), ImportanceMethod::entropy, 3);
  const auto most =
      scores_of(classification(), ImportanceMethod::confidence, 3);
  for_each_head([&](const HeadId& id, std::size_t at) {
    EXPECT_NEAR(less[id.layer][at], -entropy[id.layer][id.head], 1e-5);
    EXPECT_NEAR(most[id.layer][at], largest[id.layer][id.head], 1e-5);
  });
}

TEST_P(SentenceLossesTest, AnyGatesHaveTheirAttentionWeights) {
  const auto got = classification().means(1, 4, gates_of(some_gates())).value();
  for (std::size_t x = 1; x < 4; ++x) {
    const auto [nats, most] = means_of(x, some_gates());
    for_each_head([&, &e = nats, &m = most](const HeadId& id, std::size_t at) {
      EXPECT_NEAR(got.entropy[id.layer](x - 1, at), e[id.layer][id.head], 1e-5);
      EXPECT_NEAR(got.largest[id.layer](x - 1, at), m[id.layer][id.head], 1e-5);
    });
  }
}

TEST_P(SentenceLossesTest, AnyGatesHaveTheirLossesAndGradients) {
  const GatedModel model = classification();
  const Rows gates = some_gates();
  const auto tensors = gates_of(gates);
  const auto losses = model.losses(1, 4, tensors).value();
  const auto gradients = model.gradients(1, 4, tensors).value();
  ASSERT_EQ(losses.size(), 3u);
  for (std::size_t x = 1; x < 4; ++x) {
    EXPECT_NEAR(losses[x - 1], cross_entropy_of(x, gates), 1e-5);
    for_each_head([&](const HeadId& id, std::size_t at) {
      EXPECT_NEAR(
          gradients[id.layer](x - 1, at),
          slope([&](const Rows& moved) { return cross_entropy_of(x, moved); },
                gates, id),
          1e-4);
    });
  }
}

TEST_P(SentenceLossesTest, EmbeddingsLoseNothingWithAllHeads) {
  const GatedModel model = embedding_losses(encoder_, kIds);
  const auto none = model.losses(0, 4, gates_of(all_on())).value();
  for (const double loss : none) {
    EXPECT_EQ(loss, 0);
  }
  const auto losses = model.losses(1, 4, gates_of(some_gates())).value();
  for (std::size_t x = 1; x < 4; ++x) {
    const Vector e = embedding(x, some_gates());
    const Vector e_0 = embedding(x, all_on());
    double squares = 0;
    for (std::size_t n = 0; n < e.size(); ++n) {
      squares += (e[n] - e_0[n]) * (e[n] - e_0[n]);
    }
    EXPECT_NEAR(losses[x - 1], squares, 1e-4 * std::max(1.0, squares));
  }
}

TEST_P(SentenceLossesTest, GradientsOfEmbeddingsAreAlongADirectionOfEach) {
  const GatedModel model = embedding_losses(encoder_, kIds, Seed{5});
  const auto gradients = model.gradients(1, 4, gates_of(all_on())).value();
  for (std::size_t x = 1; x < 4; ++x) {
    std::vector<float> r(encoder_.embedding_size());
    RandomStream(Seed{5}, 8)
        .substream(static_cast<std::uint32_t>(x))
        .fill_normal(r);
    for_each_head([&](const HeadId& id, std::size_t at) {
      const auto along = [&](const Rows& gates) {
        const Vector e = embedding(x, gates);
        double sum = 0;
        for (std::size_t n = 0; n < e.size(); ++n) {
          sum += static_cast<double>(r[n]) * e[n];
        }
        return sum;
      };
      EXPECT_NEAR(gradients[id.layer](x - 1, at), slope(along, all_on(), id),
                  1e-4);
    });
  }
}

TEST_P(SentenceLossesTest, AnExampleHasTheSameBitsInAnyBatchOnAnyThreads) {
  const auto gates = gates_of(all_on());
  const Executor three = Executor::with_threads(3).value();
  const std::vector<GatedModel> models = {
      classification(), embedding_losses(encoder_, kIds, Seed{5}),
      classification_losses(encoder_, probe_, kIds, kTargets, three),
      embedding_losses(encoder_, kIds, Seed{5}, three)};
  for (std::size_t n = 0; n < models.size(); ++n) {
    const auto all = models[n % 2].gradients(0, 4, gates).value();
    const auto one = models[n].gradients(2, 3, gates).value();
    for (std::size_t layer = 0; layer < 2; ++layer) {
      const std::size_t heads = heads_[layer].size();
      EXPECT_TRUE(same_bits(one[layer].elements(),
                            all[layer].elements().subspan(2 * heads, heads)));
    }
    EXPECT_EQ(models[n].losses(2, 3, gates).value()[0],
              models[n % 2].losses(0, 4, gates).value()[2]);
    const auto means = models[n].means(2, 3, gates).value();
    EXPECT_TRUE(
        same_bits(means.entropy[1].elements(),
                  models[0]
                      .means(0, 4, gates)
                      .value()
                      .entropy[1]
                      .elements()
                      .subspan(2 * heads_[1].size(), heads_[1].size())));
  }
}

TEST_P(SentenceLossesTest, WhatDoesNotFitIsAnError) {
  const auto gates = gates_of(all_on());
  const RaggedTokens empty = {{2, 3}, {}, {2, 3}};
  const std::vector<std::int64_t> three = {0, 1, 2};
  for (const GatedModel& model :
       {classification_losses(encoder_, probe_, empty, three),
        embedding_losses(encoder_, empty)}) {
    const auto losses = model.losses(1, 3, gates);
    const auto gradients = model.gradients(1, 3, gates);
    const auto means = model.means(1, 3, gates);
    const auto is_empty = HasError({.code = ErrorCode::invalid_argument,
                                    .operation = "sentence_losses",
                                    .argument = "sentences.ids[1]",
                                    .given = {"no"},
                                    .expected = {"1"}});
    EXPECT_THAT(losses, is_empty);
    EXPECT_THAT(gradients, is_empty);
    EXPECT_THAT(means, is_empty);
    EXPECT_TRUE(model.losses(2, 3, gates));
  }
  const GatedModel few = classification_losses(encoder_, probe_, kIds, three);
  const auto is_of_other_shape = HasError({.code = ErrorCode::shape_mismatch,
                                           .operation = "sentence_losses",
                                           .argument = "targets",
                                           .given = {"(3)"},
                                           .expected = {"(4)"}});
  EXPECT_THAT(few.losses(3, 4, gates), is_of_other_shape);
  EXPECT_THAT(few.gradients(0, 4, gates), is_of_other_shape);
  const std::vector<std::int64_t> beyond = {0, 1, 3, 0};
  const GatedModel wrong =
      classification_losses(encoder_, probe_, kIds, beyond);
  EXPECT_EQ(wrong.losses(0, 4, gates).error().code(), ErrorCode::out_of_range);
  EXPECT_EQ(wrong.gradients(0, 4, gates).error().code(),
            ErrorCode::out_of_range);
}

TEST_P(SentenceLossesTest, AnEncoderReadForInferenceHasAllButGradients) {
  const SentenceEncoder encoder = read(ModelUse::inference);
  std::vector<Tensor<float, 1>> gates;
  for (int n = 0; n < 2; ++n) {
    gates.push_back(filled<float, 1>({3}, 1));
  }
  const GatedModel model =
      classification_losses(encoder, probe_, kIds, kTargets);
  EXPECT_TRUE(model.losses(0, 4, gates));
  EXPECT_TRUE(model.means(0, 4, gates));
  EXPECT_EQ(model.gradients(0, 4, gates).error().code(),
            ErrorCode::unsupported);
}

INSTANTIATE_TEST_SUITE_P(
    Settings, SentenceLossesTest,
    testing::Values(
        Setting{"Mean", false, {}}, Setting{"Normalized", true, {}},
        Setting{"Pruned", false, {{0, 1}, {1, 0}}},
        Setting{"LayerWithoutHeads", true, {{0, 0}, {0, 1}, {0, 2}, {1, 1}}}),
    [](const auto& setting) { return setting.param.name; });

}  // namespace
}  // namespace headwise::testing_support
