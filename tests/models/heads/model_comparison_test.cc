#include "headwise/heads/model_comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/models/sentence_encoder.h"
#include "models/pruned_model.h"
#include "models/small_model.h"
#include "support/errors.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

using Indices = std::vector<std::optional<std::size_t>>;

const std::vector<std::string_view> kTexts = {"we see heads", "heads matter !",
                                              "why a head see a head", "a"};

Params params_of_small_model() {
  return small_params(small_config(SmallFamily::bert));
}

// The parameters with heads in another order, layer by layer.
Params in_order(const KeptHeads& order) {
  return pruned(params_of_small_model(), small_config(SmallFamily::bert),
                order);
}

// The folder of a model, and the model.
class SmallModel {
 public:
  explicit SmallModel(const Params& params = params_of_small_model(),
                      const SafetensorsMetadata& metadata = {}) {
    put_small_model(folder_, params);
    EXPECT_TRUE(
        write_params(folder_ / "model.safetensors", params, "", metadata));
    read();
  }
  void put_vocabulary(std::string_view tokens) {
    put_file(folder_ / "vocab.txt", bytes_of(tokens));
    read();
  }
  const TextModel& operator*() const { return *model_; }

 private:
  void read() { model_ = read_text_model(folder_.path()).value(); }

  TempFolder folder_;
  std::unique_ptr<TextModel> model_;
};

// Of one head, all attention weights: by the encoder itself.
Tensor<float, 4> weights_of(const SmallModel& model, std::string_view text,
                            std::size_t layer) {
  const auto ids = (*model).encode(text, 9).value().ids;
  Tensor<float, 4> weights;
  const auto see = [&](std::size_t at,
                       TensorView<const float, 3> hidden) -> Status {
    if (at == layer) {
      HEADWISE_ASSIGN(auto done, (*model).attention(layer).forward(
                                     hidden, hidden, hidden,
                                     {.attn_weights = AttnWeights::per_head}));
      weights = std::move(done.attn_weights);
    }
    return ok();
  };
  EXPECT_TRUE((*model).run({ids}, {.before_each = see}));
  return weights;
}

double plain_similarity(const SmallModel& a, HeadId head_a, const SmallModel& b,
                        HeadId head_b, std::string_view text) {
  const auto of_a = weights_of(a, text, head_a.layer);
  const auto of_b = weights_of(b, text, head_b.layer);
  const std::size_t L = of_a.extent(2);
  double sum = 0;
  for (std::size_t i = 0; i < L; ++i) {
    for (std::size_t j = 0; j < L; ++j) {
      sum += static_cast<double>(
          std::min(of_a(0, head_a.head, i, j), of_b(0, head_b.head, i, j)));
    }
  }
  return sum / static_cast<double>(L);
}

// The share that a head gives to the first key, as the statistic `first`.
double plain_first(const SmallModel& model, HeadId head,
                   std::string_view text) {
  const auto weights = weights_of(model, text, head.layer);
  double sum = 0;
  for (std::size_t i = 0; i < weights.extent(2); ++i) {
    sum += static_cast<double>(weights(0, head.head, i, 0));
  }
  return sum / static_cast<double>(weights.extent(2));
}

Params other_params() {
  Params params = params_of_small_model();
  for (auto& [name, param] : params) {
    for (float& x : param.elements()) {
      x *= 0.9F;
    }
  }
  return params;
}

TEST(ModelComparisonTest, HasTheMeansOfPlainMapsOverTexts) {
  const SmallModel a;
  const SmallModel b(other_params());
  const auto found = ModelComparison::of(*a, *b, kTexts).value();
  ASSERT_EQ(found.heads_a().size(), 6u);
  EXPECT_EQ(found.texts(), 4u);
  EXPECT_EQ(found.same_tokens(), 4u);
  EXPECT_FALSE(found.first_different());
  for (const auto& [m, n] :
       {std::pair<std::size_t, std::size_t>{1, 1}, {4, 4}, {5, 0}}) {
    const HeadId head_a = found.heads_a()[m];
    const HeadId head_b = found.heads_b()[n];
    std::vector<double> similarities;
    std::vector<double> differences;
    for (const std::string_view text : kTexts) {
      similarities.push_back(plain_similarity(a, head_a, b, head_b, text));
      differences.push_back(plain_first(a, head_a, text) -
                            plain_first(b, head_b, text));
    }
    const MeanInterval similarity = mean_interval(similarities);
    const MeanInterval difference = mean_interval(differences);
    const HeadPair pair = found.pair(m, n);
    EXPECT_EQ(pair.a, head_a);
    EXPECT_EQ(pair.b, head_b);
    EXPECT_EQ(pair.similarity.count, 4u);
    EXPECT_NEAR(pair.similarity.mean, similarity.mean, 2e-6);
    EXPECT_NEAR(pair.similarity.low, similarity.low, 2e-6);
    EXPECT_NEAR(pair.similarity.high, similarity.high, 2e-6);
    const auto& first = pair.difference[index_of(Statistic::first)];
    EXPECT_EQ(first.count, 4u);
    EXPECT_NEAR(first.mean, difference.mean, 2e-6);
    EXPECT_NEAR(first.low, difference.low, 2e-6);
    EXPECT_NEAR(first.high, difference.high, 2e-6);
    EXPECT_NEAR(pair.mean_a[index_of(Statistic::first)] -
                    pair.mean_b[index_of(Statistic::first)],
                difference.mean, 2e-6);
  }
}

TEST(ModelComparisonTest, ComparesAModelWithItselfWithoutAHead) {
  const SmallModel model;
  std::vector<Tensor<float, 1>> gates;
  for (std::size_t n = 0; n < (*model).shape().num_layers; ++n) {
    gates.push_back(
        Tensor<float, 1>::create({(*model).heads_in(n).size()}).value());
    std::ranges::fill(gates.back().elements(), 1.0F);
  }
  const auto compared = [&] {
    return ModelComparison::of(*model, *model, kTexts, {.head_gates_b = gates})
        .value();
  };
  const auto itself = compared();
  gates[0](1) = 0;
  const auto without = compared();
  for (std::size_t h = 0; h < 6; ++h) {
    EXPECT_NEAR(itself.similarity(h, h).mean, 1, 1e-6);
    // What comes before the head is the same, what comes after it is not.
    if (without.heads_a()[h].layer == 0) {
      EXPECT_NEAR(without.similarity(h, h).mean, 1, 1e-6);
    } else {
      EXPECT_LT(without.similarity(h, h).mean, 0.9999);
    }
  }
}

TEST(ModelComparisonTest, NamesTheGatesThatItRefuses) {
  const SmallModel model;
  const auto refused = [&](HeadGateSpan gates) {
    return ModelComparison::of(*model, *model, kTexts, {.head_gates_b = gates});
  };
  std::vector<Tensor<float, 1>> gates;
  gates.push_back(
      Tensor<float, 1>::create({(*model).heads_in(0).size()}).value());
  EXPECT_THAT(refused(gates),
              IsError(ErrorCode::shape_mismatch, "head_gates_b"));
  while (gates.size() < (*model).shape().num_layers) {
    gates.push_back(
        Tensor<float, 1>::create({(*model).heads_in(gates.size()).size()})
            .value());
  }
  gates[1](0) = std::numeric_limits<float>::infinity();
  EXPECT_THAT(refused(gates),
              IsError(ErrorCode::invalid_argument, "head_gates_b[1][0]"));
}

TEST(ModelComparisonTest, FindsNoDifferenceFromItself) {
  const SmallModel model;
  const auto found = ModelComparison::of(*model, *model, kTexts).value();
  EXPECT_EQ(found.others(HeadPairing::match), (Indices{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(found.nearest(), (Indices{0, 1, 2, 3, 4, 5}));
  for (std::size_t h = 0; h < 6; ++h) {
    const HeadPair pair = found.pair(h, h);
    EXPECT_NEAR(pair.similarity.mean, 1, 1e-6);
    for (const MeanInterval& difference : pair.difference) {
      EXPECT_EQ(difference.mean, 0);
    }
  }
}

TEST(ModelComparisonTest, MatchesHeadsThatChangedPlaces) {
  const SmallModel a;
  const SmallModel b(in_order({{2, 0, 1}, {0, 2, 1}}));
  const auto found = ModelComparison::of(*a, *b, kTexts).value();
  EXPECT_EQ(found.others(HeadPairing::place), (Indices{0, 1, 2, 3, 4, 5}));
  const Indices matched = found.others(HeadPairing::match);
  EXPECT_EQ(matched, (Indices{1, 2, 0, 3, 5, 4}));
  for (std::size_t h = 0; h < 6; ++h) {
    const HeadPair pair = found.pair(h, *matched[h]);
    EXPECT_NEAR(pair.similarity.mean, 1, 1e-5);
    EXPECT_NEAR(pair.difference[0].mean, 0, 1e-5);
  }
  EXPECT_LT(found.pair(0, 0).similarity.mean, 0.99);
}

TEST(ModelComparisonTest, LeavesOutPrunedHeads) {
  const SmallModel a;
  const SmallModel b(in_order({{1, 2}, {}}), {{"kept_heads", "[[1,2],[]]"}});
  const auto found = ModelComparison::of(*a, *b, kTexts).value();
  EXPECT_EQ(found.heads_b(), (std::vector<HeadId>{{0, 1}, {0, 2}}));
  const Indices kept{std::nullopt, 0,           1, std::nullopt,
                     std::nullopt, std::nullopt};
  EXPECT_EQ(found.others(HeadPairing::place), kept);
  // Layer 0 comes before anything that pruning changed.
  EXPECT_EQ(found.others(HeadPairing::match), kept);
  EXPECT_NEAR(found.pair(1, 0).similarity.mean, 1, 1e-6);
  const auto turned = ModelComparison::of(*b, *a, kTexts).value();
  EXPECT_EQ(turned.others(HeadPairing::match), (Indices{1, 2}));
}

TEST(ModelComparisonTest, ComparesStatisticsWhereTheTokensDiffer) {
  const SmallModel a;
  SmallModel b;
  // "see" and "why" change places, and "heads" gives its id to [UNK].
  b.put_vocabulary(
      "[PAD]\nh\n[CLS]\n[SEP]\n[MASK]\n[UNK]\nmatter\n!\nwe\nwhy\nx\na\n"
      "head\nsee\n");
  const auto some = ModelComparison::of(*a, *b, kTexts).value();
  EXPECT_EQ(some.same_tokens(), 2u);
  EXPECT_EQ(some.first_different(), 0u);
  EXPECT_EQ(some.pair(0, 0).similarity.count, 2u);
  EXPECT_EQ(some.pair(0, 0).difference[0].count, 4u);

  const std::vector<std::string_view> different = {"heads", "a heads"};
  const auto none = ModelComparison::of(*a, *b, different).value();
  EXPECT_EQ(none.same_tokens(), 0u);
  EXPECT_EQ(none.others(HeadPairing::match), Indices(6));
  EXPECT_EQ(none.nearest(), Indices(6));
  EXPECT_EQ(none.pair(0, 0).similarity.count, 0u);
  EXPECT_EQ(none.pair(0, 0).difference[0].count, 2u);
}

TEST(ModelComparisonTest, HasTheSameBitsForAnyNumberOfThreads) {
  const SmallModel a;
  const SmallModel b(other_params());
  std::vector<std::string_view> texts;
  for (std::size_t n = 0; n < 40; ++n) {
    texts.push_back(kTexts[n % kTexts.size()]);
  }
  const auto with = [&](std::size_t threads) {
    const auto executor = Executor::with_threads(threads).value();
    const HeadPair pair =
        ModelComparison::of(*a, *b, texts, {.executor = &executor})
            .value()
            .pair(3, 2);
    return std::pair(pair.similarity.high, pair.difference[0].high);
  };
  EXPECT_EQ(with(1), with(2));
  EXPECT_EQ(with(1), with(4));
}

TEST(ModelComparisonTest, CutsTextsAtTheLimitOfBothModels) {
  const SmallModel model;
  const std::vector<std::string_view> texts = {"a", "a a a a"};
  const auto whole = ModelComparison::of(*model, *model, texts).value();
  EXPECT_EQ(whole.cut_texts(), 0u);
  const auto cut =
      ModelComparison::of(*model, *model, texts, {.max_tokens = 5}).value();
  EXPECT_EQ(cut.cut_texts(), 1u);
  EXPECT_THAT(ModelComparison::of(*model, *model, texts, {.max_tokens = 10}),
              IsError(ErrorCode::invalid_argument, "max_tokens"));
}

TEST(ModelComparisonTest, ComparesAModelWithoutHeads) {
  const SmallModel whole;
  const SmallModel none(in_order({{}, {}}), {{"kept_heads", "[[],[]]"}});
  const auto found = ModelComparison::of(*none, *whole, kTexts).value();
  EXPECT_TRUE(found.heads_a().empty());
  EXPECT_EQ(found.same_tokens(), 4u);
  const auto turned = ModelComparison::of(*whole, *none, kTexts).value();
  EXPECT_EQ(turned.others(HeadPairing::match), Indices(6));
}

TEST(ModelComparisonTest, RefusesAHeadThatIsNaN) {
  const SmallModel model;
  Params params = params_of_small_model();
  for (const char* name : {"encoder.layer.1.attention.self.query.weight",
                           "encoder.layer.1.attention.self.key.weight"}) {
    for (float& x : params.at(name).elements()) {
      x *= 1e30F;
    }
  }
  const SmallModel other(params);
  const auto done = ModelComparison::of(*other, *model, kTexts);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::bad_data);
  EXPECT_EQ(done.error().message(),
            "compare_models: a computes NaN in head 1.0, expected attention "
            "weights that are numbers");
  EXPECT_THAT(ModelComparison::of(*model, *other, kTexts),
              IsError(ErrorCode::bad_data, "b"));
}

TEST(ModelComparisonTest, RefusesATextThatIsNotUtf8) {
  const SmallModel model;
  const std::vector<std::string_view> texts = {"a", "\xff"};
  const auto done = ModelComparison::of(*model, *model, texts);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), ErrorCode::bad_data);
}

TEST(ModelComparisonTest, CountsTexts) {
  const SmallModel model;
  std::vector<std::size_t> counts;
  EXPECT_TRUE(ModelComparison::of(
      *model, *model, kTexts,
      {.progress = [&](std::size_t done, std::size_t total) {
        counts.push_back(done);
        EXPECT_EQ(total, kTexts.size());
      }}));
  EXPECT_EQ(counts, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
}

TEST(ModelComparisonTest, KeepsManyThreadsBusy) {
  const SmallModel model;
  std::vector<std::size_t> workers;
  const auto executor =
      Executor::with_pool(40, [&](std::size_t count,
                                  FunctionRef<void(std::size_t)> work) {
        workers.push_back(count);
        for (std::size_t worker = 0; worker < count; ++worker) {
          work(worker);
        }
      }).value();
  const std::vector<std::string_view> texts(60, "heads matter");
  EXPECT_TRUE(
      ModelComparison::of(*model, *model, texts, {.executor = &executor}));
  EXPECT_EQ(workers, (std::vector<std::size_t>{40, 20}));
}

}  // namespace
}  // namespace headwise::testing_support
