// Each allocation fails once: an error comes back and nothing leaks (as the
// sanitizer sees it).
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "headwise/models/write_model.h"
#include "headwise/prune/pruned_accuracy.h"
#include "headwise/prune/remove_heads.h"
#include "headwise/prune/sentence_importance.h"
#include "headwise/train/sentence_classifier.h"
#include "interop/files.h"
#include "models/small_model.h"
#include "prune/correct_outputs.h"
#include "prune/full_size.h"
#include "prune/known_model.h"
#include "prune/most_heads.h"
#include "support/failures.h"
#include "train/small_texts.h"

namespace headwise::testing_support {
namespace {

// ---- Importance. ----

// A step that failed can be tried again: the run is one that never failed.
TEST(ImportanceFailuresTest, EveryAllocationOfAStepMayFailAndLeavesTheRun) {
  const KnownModel model;
  for (const std::string_view name : kImportanceMethodNames) {
    SCOPED_TRACE(std::string(name));
    const ImportanceOptions options = {
        .method = *importance_method(name), .share_a_round = 0.4, .batch = 4};
    const auto create = [&] {
      return ImportanceRun::create(not_counted([&] { return model.gated(); }),
                                   options);
    };
    EXPECT_GT(failures_of(create), 5);
    ImportanceRun failing = create().value();
    ImportanceRun untroubled = create().value();
    while (untroubled.done() < untroubled.steps()) {
      const auto undo = [&] {
        EXPECT_TRUE(failing.set_state(untroubled.state()));
      };
      EXPECT_GT(failures_of([&] { return failing.step(); }, 1, undo), 1);
      ASSERT_TRUE(untroubled.step());
      ASSERT_EQ(failing.state().sums, untroubled.state().sums);
    }
    EXPECT_EQ(failing.result().scores, untroubled.result().scores);
    EXPECT_EQ(failing.result().order, untroubled.result().order);
  }
}

TEST(ImportanceFailuresTest, EveryAllocationOfAStateMayFail) {
  const KnownModel model;
  ImportanceRun run = ImportanceRun::create(model.gated(), {}).value();
  ASSERT_TRUE(run.step());
  EXPECT_GT(failures_of([&] {
              return run.set_state(not_counted([&] { return run.state(); }));
            }),
            0);
}

TEST(ImportanceFailuresTest, EveryAllocationOfAnErrorMayFail) {
  const KnownModel model;
  ImportanceRun run = ImportanceRun::create(model.gated(), {}).value();
  GatedModel infinite = model.gated();
  infinite.gradients =
      [](std::size_t begin, std::size_t end,
         HeadGateSpan gates) -> Result<std::vector<Tensor<float, 2>>> {
    std::vector<Tensor<float, 2>> all;
    for (const auto& layer : gates) {
      HEADWISE_ASSIGN(auto made,
                      Tensor<float, 2>::create({end - begin, layer.extent(0)}));
      std::ranges::fill(made.elements(), -kMinusInf);
      all.push_back(std::move(made));
    }
    return all;
  };
  ImportanceRun hopeless = ImportanceRun::create(infinite, {}).value();
  expect_failures_of_errors(
      {{"create",
        [&] {
          return ImportanceRun::create(
              not_counted([&] { return model.gated(); }), {.batch = 0});
        }},
       {"step", [&] { return hopeless.step(); }},
       {"set_state", [&] { return run.set_state({}); }},
       {"parse_importance",
        [] { return parse_importance("{}", "scores.json"); }}});
}

// ---- Pruning of a layer. ----

TEST(RemoveHeadsFailuresTest, EveryAllocationMayFail) {
  const std::vector<std::size_t> heads = {1, 2};
  const std::vector<std::size_t> none = {9};
  for (const Scoring scoring : {Scoring::dot, Scoring::additive}) {
    const auto layer =
        MultiHeadAttention::create(
            {.embed_dim = 8, .num_heads = 4, .scoring = scoring}, Seed{1})
            .value();
    EXPECT_GT(failures_of([&] { return remove_heads(layer, heads); }), 10);
    expect_failures_of_errors(
        {{"remove_heads", [&] { return remove_heads(layer, none); }}});
  }
}

TEST(MostHeadsFailuresTest, EveryAllocationOfAMeasurementMayFail) {
  const auto accuracy_without = [](std::size_t n) -> Result<double> {
    HEADWISE_ASSIGN(auto some, Tensor<float, 1>::create({1 + n}));
    return 1 - 0.1 * static_cast<double>(n);
  };
  EXPECT_GT(
      failures_of([&] { return most_heads_within(0.25, 6, accuracy_without); }),
      2);
}

TEST(MeanCosineFailuresTest, EveryAllocationOfAnErrorMayFail) {
  const auto a = filled<float, 2>({3, 4}, 1);
  const auto b = filled<float, 2>({3, 5}, 1);
  expect_failures_of_errors(
      {{"mean_cosine", [&] { return mean_cosine(a, b); }}});
}

// ---- Pruning of a model. ----

class PruningFailuresTest : public testing::Test {
 protected:
  void SetUp() override {
    const TempFolder plain;
    put_small_model(plain, small_params(small_config(SmallFamily::bert)));
    const auto encoder = SentenceEncoder::read(plain.path()).value();
    const LabelProbe probe = train_probe(encoder, text_, options_).value();
    ASSERT_TRUE(write_model(plain.path(), source_, {.probe = &probe}));
  }
  SentenceClassifier read() const {
    return SentenceClassifier::read(source_).value();
  }

  Executor executor_ = Executor::with_threads(1).value();
  LabelledText text_ = small_texts();
  SentenceOptions options_{.executor = &executor_};
  std::vector<HeadId> order_ = {{0, 1}, {1, 0}, {0, 0}};
  TempFolder folder_;
  std::string source_ = folder_ / "model";
};

TEST_F(PruningFailuresTest, EveryAllocationOfALossMayFail) {
  const SentenceClassifier model = read();
  const RaggedTokens ids = {{2, 5, 3}};
  const std::vector<std::int64_t> targets = {1};
  std::vector<Tensor<float, 1>> gates;
  gates.push_back(filled<float, 1>({3}, 1));
  gates.push_back(filled<float, 1>({3}, 0.5f));
  const GatedModel labelled = classification_losses(model.encoder, *model.probe,
                                                    ids, targets, executor_);
  const GatedModel unlabelled =
      embedding_losses(model.encoder, ids, Seed{1}, executor_);
  constexpr long kStep = 3;
  for (const GatedModel* gated : {&labelled, &unlabelled}) {
    EXPECT_GT(failures_of([&] { return gated->losses(0, 1, gates); }, kStep),
              10);
    EXPECT_GT(failures_of([&] { return gated->gradients(0, 1, gates); }, kStep),
              10);
    EXPECT_GT(failures_of([&] { return gated->means(0, 1, gates); }, kStep),
              10);
  }
}

TEST_F(PruningFailuresTest, EveryAllocationOfARunMayFail) {
  const auto create = [&] {
    return SentenceImportance::create(source_, text_, {.executor = &executor_});
  };
  EXPECT_GT(failures_of(create, 17), 10);
  SentenceImportance run = create().value();
  const std::string scores = folder_ / "scores.json";
  Journal journal = run.journal(scores);
  EXPECT_GT(failures_of([&] { return run.keep_in(journal); }, 3), 10);
  EXPECT_GT(failures_of([&] { return run.resume(journal); }, 3), 10);
  EXPECT_GT(failures_of([&] { return run.step(); }, 31), 10);
  while (run.done() < run.steps()) {
    ASSERT_TRUE(run.step());
  }
  const ImportanceFile file = run.result();
  EXPECT_GT(failures_of([&] { return write_importance(scores, file); }, 3), 10);
  EXPECT_GT(failures_of([&] { return read_importance(scores); }, 3), 10);
  const std::string json = importance_json(file);
  EXPECT_GT(failures_of([&] { return parse_importance(json, scores); }, 3), 10);
  const SentenceClassifier model = read();
  EXPECT_GT(
      failures_of([&] { return check_importance(file, scores, model.encoder); },
                  3),
      3);
}

TEST_F(PruningFailuresTest, EveryAllocationOfAnAccuracyMayFail) {
  const LabelProbe probe = *read().probe;
  const LabelledText one = parse_labelled_text("body\theads\n", "x").value();
  PrunedAccuracy kept(source_, probe, one, options_);
  const auto journal = [&] { return Journal(folder_ / "curve.json", {}); };
  EXPECT_GT(failures_of([&] { return kept.keep_in(not_counted(journal)); }), 0);
  // After each failure the next order goes on where the last one stopped.
  EXPECT_GT(failures_of([&] { return kept.without(order_, 2); }, 37), 10);
  EXPECT_GT(failures_of([&] { return kept.without(order_, 3); }), 10);
  EXPECT_EQ(
      kept.without(order_, 3)->right,
      PrunedAccuracy(source_, probe, one, options_).without(order_, 3)->right);
  EXPECT_GT(failures_of(
                [&] {
                  PrunedAccuracy fresh = not_counted([&] {
                    return PrunedAccuracy(source_, probe, one, options_);
                  });
                  return accuracy_curve(order_, fresh);
                },
                211),
            1000);
  EXPECT_GT(failures_of([&] { return most_heads_within(1, order_, kept); }, 97),
            10);
}

TEST_F(PruningFailuresTest, EveryAllocationOfPruningAModelMayFail) {
  const SentenceClassifier whole = read();
  SentenceClassifier pruned = read();
  const std::vector<HeadId> none = {{0, 9}};
  // What failed has changed nothing, or the last one could not be removed.
  EXPECT_GT(failures_of(
                [&] { return remove_heads(pruned.encoder.encoder(), order_); },
                1, [&] { pruned = read(); }),
            10);
  Transformer& heads = pruned.encoder.encoder();
  expect_failures_of_errors(
      {{"remove_heads", [&] { return remove_heads(heads, none); }},
       {"correct_outputs",
        [&] { return correct_outputs(heads, whole.encoder.encoder(), {}); }}});
  EXPECT_GT(failures_of(
                [&] {
                  return correct_on_texts(heads, whole.encoder, text_.texts,
                                          options_);
                },
                17),
            10);
  EXPECT_GT(failures_of([&] { return full_size_attention(heads); }), 10);
  const std::string out = folder_ / "out";
  for (const bool full_size : {false, true}) {
    EXPECT_GT(failures_of(
                  [&] {
                    return write_pruned(source_, out, heads,
                                        {.full_size = full_size});
                  },
                  53),
              100);
  }
}

}  // namespace
}  // namespace headwise::testing_support
