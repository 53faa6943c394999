// Scores, orders and rounds of importance on a model whose losses are known.
#include "headwise/prune/importance.h"

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "prune/known_model.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

const std::vector<ImportanceMethod> kScored = {
    ImportanceMethod::gradient, ImportanceMethod::fisher,
    ImportanceMethod::ablation, ImportanceMethod::entropy,
    ImportanceMethod::confidence};

ImportanceRun run_of(GatedModel model, const ImportanceOptions& options) {
  auto run = ImportanceRun::create(std::move(model), options);
  EXPECT_TRUE(run) << run.error().message();
  return *std::move(run);
}

HeadImportance importance_of(GatedModel model,
                             const ImportanceOptions& options) {
  ImportanceRun run = run_of(std::move(model), options);
  while (run.done() < run.steps()) {
    const Status s = run.step();
    if (!s) {
      ADD_FAILURE() << s.error().message();
      break;
    }
  }
  return run.result();
}

std::vector<double> flat(const std::vector<std::vector<double>>& scores) {
  std::vector<double> all;
  for (const auto& layer : scores) {
    all.insert(all.end(), layer.begin(), layer.end());
  }
  return all;
}

void expect_importance(const HeadImportance& got,
                       const std::vector<double>& scores,
                       const std::vector<HeadId>& order) {
  ASSERT_THAT(flat(got.scores), testing::SizeIs(scores.size()));
  for (std::size_t n = 0; n < scores.size(); ++n) {
    EXPECT_NEAR(flat(got.scores)[n], scores[n], 1e-12) << n;
  }
  EXPECT_EQ(got.order, order);
}

TEST(ImportanceTest, InOneShotHeadsAreOrderedByTheirScores) {
  const KnownModel known;
  for (const ImportanceMethod method : kScored) {
    for (const std::size_t batch : {1u, 3u, 7u, 100u}) {
      const auto [scores, order] = known.importance(method, 6);
      expect_importance(
          importance_of(known.gated(), {.method = method, .batch = batch}),
          scores, order);
    }
  }
}

TEST(ImportanceTest, ARoundIsScoredWithoutTheHeadsBefore) {
  const KnownModel known;
  const std::vector<std::pair<double, std::size_t>> shares = {
      {1, 6}, {0.5, 3}, {0.7, 4}, {0.25, 2}, {0.2, 1}, {1e-9, 1}};
  for (const ImportanceMethod method : kScored) {
    for (const auto& [share, a_round] : shares) {
      const auto [scores, order] = known.importance(method, a_round);
      expect_importance(
          importance_of(known.gated(),
                        {.method = method, .share_a_round = share, .batch = 2}),
          scores, order);
    }
  }
}

// Heads 0 and 1 can do each other's work; 2 has work of its own.
TEST(ImportanceTest, OfTwoHeadsThatDoOneWorkOneStays) {
  const GatedModel model{
      .heads = {{0, 1, 2}},
      .examples = 1,
      .losses = [](std::size_t, std::size_t,
                   HeadGateSpan gates) -> Result<std::vector<double>> {
        const auto off = [&](std::size_t h) {
          return 1 - static_cast<double>(gates[0](h));
        };
        return std::vector<double>{10 * off(0) * off(1) + off(2)};
      }};
  ImportanceOptions options{.method = ImportanceMethod::ablation};
  EXPECT_THAT(importance_of(model, options).order,
              ElementsAre(HeadId{0, 0}, HeadId{0, 1}, HeadId{0, 2}));
  options.share_a_round = 0.3;
  const HeadImportance got = importance_of(model, options);
  EXPECT_THAT(got.order, ElementsAre(HeadId{0, 0}, HeadId{0, 2}, HeadId{0, 1}));
  EXPECT_THAT(got.scores, ElementsAre(ElementsAre(0, 10, 1)));
}

TEST(ImportanceTest, AmongEqualsTheLowestLayerAndHeadGoesFirst) {
  GatedModel model = KnownModel().gated();
  model.losses = [](std::size_t begin, std::size_t end, HeadGateSpan) {
    return Result<std::vector<double>>(std::vector<double>(end - begin, 3.0));
  };
  for (const auto& share : {std::optional<double>(), std::optional(0.3)}) {
    EXPECT_THAT(importance_of(model, {.method = ImportanceMethod::ablation,
                                      .share_a_round = share})
                    .order,
                ElementsAre(HeadId{0, 0}, HeadId{0, 2}, HeadId{0, 5},
                            HeadId{2, 1}, HeadId{2, 2}, HeadId{2, 3}));
  }
}

TEST(ImportanceTest, GradientsOfZeroAreScoresOfZero) {
  GatedModel model = KnownModel().gated();
  model.gradients = [](std::size_t begin, std::size_t end, HeadGateSpan) {
    std::vector<Tensor<float, 2>> zeros;
    for (const std::size_t heads : {3u, 0u, 3u}) {
      zeros.push_back(Tensor<float, 2>::create({end - begin, heads}).value());
    }
    return Result<std::vector<Tensor<float, 2>>>(std::move(zeros));
  };
  EXPECT_THAT(flat(importance_of(model, {}).scores),
              ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST(ImportanceTest, RandomIsAPermutationOfTheSeedAlone) {
  const auto order_of = [](std::uint64_t seed,
                           std::optional<double> share = {}) {
    return importance_of({.heads = KnownModel().heads},
                         {.method = ImportanceMethod::random,
                          .share_a_round = share,
                          .seed = Seed{seed}})
        .order;
  };
  std::set<std::vector<HeadId>> orders;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto order = order_of(seed);
    EXPECT_EQ(std::set<HeadId>(order.begin(), order.end()).size(), 6u);
    EXPECT_EQ(order.size(), 6u);
    EXPECT_EQ(order, order_of(seed));
    EXPECT_EQ(order, order_of(seed, 0.2));
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 15u);
}

TEST(ImportanceTest, EachExampleIsAskedForOnceAStep) {
  const KnownModel known;
  std::vector<std::pair<std::size_t, std::size_t>> asked;
  GatedModel model = known.gated();
  model.losses = [&](std::size_t begin, std::size_t end, HeadGateSpan gates) {
    asked.emplace_back(begin, end);
    return known.gated().losses(begin, end, gates);
  };
  ImportanceRun run =
      run_of(model, {.method = ImportanceMethod::ablation, .batch = 3});
  EXPECT_EQ(run.steps(), 7u * 3u);  // all heads, then without each
  for (std::size_t n = 0; n < run.steps(); ++n) {
    EXPECT_EQ(run.done(), n);
    ASSERT_TRUE(run.step());
  }
  ASSERT_EQ(asked.size(), 21u);
  for (std::size_t n = 0; n < asked.size(); ++n) {
    EXPECT_EQ(asked[n].first, n % 3 * 3);
    EXPECT_EQ(asked[n].second, std::min<std::size_t>(n % 3 * 3 + 3, 7));
  }
  ASSERT_TRUE(run.step());  // there is nothing left to do
  EXPECT_EQ(asked.size(), 21u);
  EXPECT_EQ(run.done(), 21u);
}

TEST(ImportanceTest, ABatchMayBeLargerThanAnyNumberOfExamples) {
  const KnownModel known;
  const auto [scores, order] = known.importance(ImportanceMethod::ablation, 6);
  expect_importance(
      importance_of(known.gated(),
                    {.method = ImportanceMethod::ablation,
                     .batch = std::numeric_limits<std::size_t>::max()}),
      scores, order);
}

TEST(ImportanceTest, MethodsHaveNames) {
  EXPECT_THAT(kImportanceMethodNames,
              ElementsAre("gradient", "fisher", "ablation", "entropy",
                          "confidence", "random"));
  for (const std::string_view name : kImportanceMethodNames) {
    EXPECT_EQ(name_of(*importance_method(name)), name);
  }
  EXPECT_EQ(importance_method("Gradient"), std::nullopt);
}

// ---- Errors. ----

TEST(ImportanceTest, WhatCannotBeRunIsAnError) {
  const auto is_refused = [](std::string argument, std::string given) {
    return HasError({.code = ErrorCode::invalid_argument,
                     .operation = "importance",
                     .argument = std::move(argument),
                     .given = {std::move(given)}});
  };
  const KnownModel known;
  GatedModel model = known.gated();
  model.heads = {{}, {}};
  EXPECT_THAT(ImportanceRun::create(model, {}), is_refused("model", "no"));
  model = known.gated();
  model.examples = 0;
  for (const ImportanceMethod method : kScored) {
    EXPECT_THAT(ImportanceRun::create(model, {.method = method}),
                is_refused("model.examples", "0"));
    EXPECT_THAT(ImportanceRun::create({.heads = {{0}}, .examples = 1},
                                      {.method = method}),
                is_refused("method", std::string(name_of(method))));
  }
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [share, given] : {std::pair(0.0, "0"),
                                     {-0.5, "-0.5"},
                                     {1.0001, "1.0001"},
                                     {kNaN, "nan"}}) {
    EXPECT_THAT(ImportanceRun::create(known.gated(), {.share_a_round = share}),
                is_refused("share_a_round", given));
  }
  EXPECT_THAT(ImportanceRun::create(known.gated(), {.batch = 0}),
              is_refused("batch", "0"));
}

TEST(ImportanceTest, AnErrorOfTheModelIsHandedOnAndTheStepCanBeTriedAgain) {
  const KnownModel known;
  for (const ImportanceMethod method : kScored) {
    int calls = 0;
    const auto fails = [&calls] { return ++calls % 3 == 2; };
    const Error error = Error::no_memory_for(7);
    GatedModel model = known.gated();
    model.losses = [&](std::size_t begin, std::size_t end, HeadGateSpan gates) {
      return fails() ? Result<std::vector<double>>(error)
                     : known.gated().losses(begin, end, gates);
    };
    model.gradients = [&](std::size_t begin, std::size_t end,
                          HeadGateSpan gates) {
      return fails() ? Result<std::vector<Tensor<float, 2>>>(error)
                     : known.gated().gradients(begin, end, gates);
    };
    model.means = [&](std::size_t begin, std::size_t end, HeadGateSpan gates) {
      return fails() ? Result<HeadMeans>(error)
                     : known.gated().means(begin, end, gates);
    };
    ImportanceRun run =
        run_of(model, {.method = method, .share_a_round = 0.3, .batch = 4});
    std::size_t errors = 0;
    while (run.done() < run.steps() && errors < 100) {
      const Status s = run.step();
      errors += s ? 0 : 1;
      EXPECT_TRUE(s || s.error().bytes_needed() == 7);
    }
    EXPECT_GT(errors, 0u);
    const auto [scores, order] = known.importance(method, 2);
    expect_importance(run.result(), scores, order);
  }
}

// The losses of example 5 without head 2.3 and its gradients are `bad`.
GatedModel bad_model(const KnownModel& known, double bad) {
  GatedModel model = known.gated();
  model.losses = [&known, bad](std::size_t begin, std::size_t end,
                               HeadGateSpan gates) {
    auto losses = known.gated().losses(begin, end, gates);
    if (begin <= 5 && 5 < end && gates[2](2) == 0) {
      (*losses)[5 - begin] = bad;
    }
    return losses;
  };
  model.gradients = [&known, bad](std::size_t begin, std::size_t end,
                                  HeadGateSpan gates) {
    auto gradients = known.gated().gradients(begin, end, gates);
    if (begin <= 5 && 5 < end) {
      (*gradients)[2](5 - begin, 2) = static_cast<float>(bad);
    }
    return gradients;
  };
  model.means = [&known, bad](std::size_t begin, std::size_t end,
                              HeadGateSpan gates) {
    auto means = known.gated().means(begin, end, gates);
    if (begin <= 5 && 5 < end) {
      means->entropy[2](5 - begin, 2) = static_cast<float>(bad);
      means->largest[2](5 - begin, 2) = static_cast<float>(bad);
    }
    return means;
  };
  return model;
}

TEST(ImportanceTest, AScoreThatIsNotFiniteIsAnErrorHoweverOftenItIsTried) {
  const KnownModel known;
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()}) {
    for (const ImportanceMethod method : kScored) {
      ImportanceRun run =
          run_of(bad_model(known, bad), {.method = method, .batch = 3});
      Status s = ok();
      while (s && run.done() < run.steps()) {
        s = run.step();
      }
      const std::size_t done = run.done();
      EXPECT_EQ(done, run.steps() - 1) << name_of(method);
      for (int again = 0; again < 3; ++again) {
        ASSERT_FALSE(s) << name_of(method);
        EXPECT_THAT(s, HasError({.code = ErrorCode::out_of_range,
                                 .operation = "importance",
                                 .argument = "model",
                                 .given = {"head 2.3"},
                                 .expected = {"finite"}}));
        EXPECT_EQ(run.done(), done);
        EXPECT_TRUE(run.result().order.empty());
        s = run.step();
      }
    }
  }
}

TEST(ImportanceTest, AScoreThatIsFiniteTheNextTimeIsAsIfItAlwaysWas) {
  const KnownModel known;
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  for (const ImportanceMethod method : kScored) {
    ImportanceRun run = run_of(bad_model(known, kNaN), {.method = method});
    while (run.step()) {
      ASSERT_LT(run.done(), run.steps());
    }
    ImportanceRun better = run_of(known.gated(), {.method = method});
    ASSERT_TRUE(better.set_state(run.state()));
    ASSERT_TRUE(better.step());
    const auto [scores, order] = known.importance(method, 6);
    expect_importance(better.result(), scores, order);
  }
}

// ---- The state of a run. ----

TEST(ImportanceStateTest, PutIntoANewRunAfterAnyStepGivesTheSameBits) {
  const KnownModel known;
  std::vector<ImportanceMethod> methods = kScored;
  methods.push_back(ImportanceMethod::random);
  for (const ImportanceMethod method : methods) {
    for (const auto& share : {std::optional<double>(), std::optional(0.3)}) {
      const ImportanceOptions options{
          .method = method, .share_a_round = share, .batch = 2};
      const HeadImportance want = importance_of(known.gated(), options);
      ImportanceState state = run_of(known.gated(), options).state();
      for (std::size_t done = 0;; ++done) {
        ImportanceRun run = run_of(known.gated(), options);
        const Status s = run.set_state(state);
        ASSERT_TRUE(s) << s.error().message() << " after " << done;
        EXPECT_EQ(run.done(), done);
        if (done == run.steps()) {
          EXPECT_EQ(run.result().scores, want.scores) << name_of(method);
          EXPECT_EQ(run.result().order, want.order) << name_of(method);
          break;
        }
        ASSERT_TRUE(run.step());
        state = run.state();
      }
    }
  }
}

TEST(ImportanceStateTest, AStateThatNoRunComesToIsAnError) {
  const KnownModel known;
  const ImportanceOptions options{
      .method = ImportanceMethod::ablation, .share_a_round = 0.3, .batch = 2};
  ImportanceRun run = run_of(known.gated(), options);
  const std::size_t first_round = 4 * (1 + 6);
  for (std::size_t n = 0; n < first_round + 3; ++n) {
    ASSERT_TRUE(run.step());
  }
  const ImportanceState good = run.state();
  ASSERT_EQ(good.order.size(), 2u);
  ASSERT_EQ(good.in_round, 3u);
  const auto expect_refused = [&](auto change, const char* what) {
    ImportanceState bad = good;
    change(bad);
    const Status s = run.set_state(bad);
    ASSERT_FALSE(s) << what;
    EXPECT_EQ(s.error().code(), ErrorCode::invalid_argument) << what;
    EXPECT_EQ(run.state().order, good.order);
    EXPECT_EQ(run.state().done, good.done);
  };
  using State = ImportanceState;
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  expect_refused([](State& s) { s.order[1] = s.order[0]; }, "twice");
  expect_refused([](State& s) { s.order[1] = {2, 7}; }, "no such head");
  expect_refused([](State& s) { s.order[1] = {1, 0}; }, "an empty layer");
  expect_refused([](State& s) { s.order[1] = {kMost, 0}; }, "no such layer");
  expect_refused([](State& s) { s.order.pop_back(); }, "half a round");
  expect_refused([](State& s) { s.order.clear(); }, "steps of a round more");
  expect_refused([](State& s) { s.sums.pop_back(); }, "a sum too few");
  expect_refused([](State& s) { s.sums.push_back(0); }, "a sum too many");
  expect_refused([](State& s) { s.scores.pop_back(); }, "a layer too few");
  expect_refused([](State& s) { s.scores[2].push_back(0); }, "a score more");
  expect_refused([](State& s) { ++s.done; }, "a step more");
  expect_refused([](State& s) { ++s.in_round; }, "a step of the round more");
  expect_refused(
      [](State& s) {
        s.in_round = 20;  // the round's last step ends it
        s.done = 28 + 20;
      },
      "all steps of a round, but not its end");
  expect_refused(
      [](State& s) {
        s.in_round = kMost;
        s.done = 27;
      },
      "steps that wrap around");
  expect_refused(
      [](State& s) {
        s.order = {{0, 0}, {0, 2}, {0, 5}, {2, 1}, {2, 2}, {2, 3}};
      },
      "no head left, but steps");
  expect_refused(
      [](State& s) {
        s.order = {{0, 0}, {0, 2}, {0, 5}, {2, 1}, {2, 2}, {2, 3}};
        s.done = 28 + 20 + 12;
        s.in_round = 1;
        ++s.done;
      },
      "a step beyond the last");
  EXPECT_TRUE(run.set_state(good));
}

TEST(ImportanceStateTest, AStateOfOtherOptionsIsAnError) {
  const KnownModel known;
  ImportanceRun fine = run_of(known.gated(), {.batch = 1});
  for (int n = 0; n < 5; ++n) {
    ASSERT_TRUE(fine.step());
  }
  EXPECT_FALSE(run_of(known.gated(), {.batch = 4}).set_state(fine.state()));
  while (fine.done() < fine.steps()) {
    ASSERT_TRUE(fine.step());
  }
  EXPECT_FALSE(run_of(known.gated(), {.share_a_round = 0.5, .batch = 1})
                   .set_state(fine.state()));
}

}  // namespace
}  // namespace headwise::testing_support
