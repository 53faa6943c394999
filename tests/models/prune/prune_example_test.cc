// What `headwise importance` and `headwise prune --max-drop` do, with the
// library alone: with public headers only.
#include <gtest/gtest.h>

#include <span>

#include "headwise/models/write_model.h"
#include "headwise/prune/pruned_accuracy.h"
#include "headwise/prune/remove_heads.h"
#include "headwise/prune/sentence_importance.h"
#include "headwise/train/sentence_classifier.h"
#include "interop/files.h"
#include "models/small_model.h"
#include "train/small_texts.h"

namespace headwise {
namespace {

class PruneExampleTest : public testing::Test {
 protected:
  // The small model with a classifier of the texts' labels.
  PruneExampleTest() {
    using namespace testing_support;
    const TempFolder plain;
    put_small_model(plain, small_params(small_config(SmallFamily::bert)));
    const auto encoder = SentenceEncoder::read(plain.path()).value();
    const LabelProbe probe = train_probe(encoder, text_).value();
    EXPECT_TRUE(write_model(plain.path(), folder(), {.probe = &probe}));
  }

  std::string folder() const { return model_.path(); }
  // headwise importance --model FOLDER --data TEXTS
  ImportanceFile scores() const {
    auto run = SentenceImportance::create(folder(), text_, {}).value();
    while (run.done() < run.steps()) {
      EXPECT_TRUE(run.step());
    }
    return run.result();
  }

  LabelledText text_ = testing_support::small_texts();
  TempFolder model_;
};

// headwise prune --model FOLDER --scores S --data TEXTS --max-drop 20% --out O
TEST_F(PruneExampleTest, TheMostHeadsWithinADrop) {
  const ImportanceFile scores = this->scores();
  SentenceClassifier model = SentenceClassifier::read(folder()).value();
  ASSERT_TRUE(check_importance(scores, "scores.json", model.encoder));

  const std::vector<HeadId>& order = scores.importance.order;
  PrunedAccuracy accuracy(folder(), *model.probe, text_);
  const std::size_t count = most_heads_within(0.2, order, accuracy).value();
  Transformer& encoder = model.encoder.encoder();
  ASSERT_TRUE(remove_heads(encoder, std::span(order).first(count)));
  const TempFolder out;
  ASSERT_TRUE(write_pruned(folder(), out.path(), encoder));

  const auto pruned = SentenceClassifier::read(out.path()).value();
  const Answers before = accuracy.without(order, 0).value();
  const Answers after =
      answers_of(pruned.encoder, *pruned.probe, text_).value();
  EXPECT_EQ(after.right, accuracy.without(order, count).value().right);
  EXPECT_GE(change_between(before, after).change, -0.2 - 1e-9);
  if (count < order.size()) {
    EXPECT_LT(accuracy.without(order, count + 1).value().accuracy(),
              before.accuracy() - 0.2);
  }
}

// headwise prune --model FOLDER --scores S --data TEXTS --curve C --random 2
TEST_F(PruneExampleTest, TheCurveOfAccuracy) {
  const ImportanceFile scores = this->scores();
  const auto model = SentenceClassifier::read(folder()).value();
  PrunedAccuracy accuracy(folder(), *model.probe, text_);
  std::size_t last = 0;
  const auto curve =
      accuracy_curve(scores.importance.order, accuracy,
                     {.random_orders = 2,
                      .progress =
                          [&](std::size_t done, std::size_t total) {
                            EXPECT_EQ(done, last + 1);
                            EXPECT_EQ(total, 30u);
                            last = done;
                          }})
          .value();
  EXPECT_EQ(last, 30u);
  ASSERT_EQ(curve.size(), 10u);
  EXPECT_EQ(curve.front().removed, 0u);
  EXPECT_EQ(curve.back().removed, 5u);  // of 6
  for (const CurvePoint& point : curve) {
    EXPECT_EQ(point.random.size(), 2u);
    EXPECT_EQ(point.by_score.right,
              accuracy.without(scores.importance.order, point.removed)->right);
  }
}

TEST_F(PruneExampleTest, AnInterruptedImportanceRunResumesFromItsJournal) {
  const TempFolder out;
  const std::string path = out / "scores.json";
  const auto create = [&] {
    return SentenceImportance::create(folder(), text_,
                                      {.importance = {.batch = 3}})
        .value();
  };
  SentenceImportance whole = create();
  SentenceImportance first = create();
  Journal journal = first.journal(path);
  ASSERT_TRUE(first.step());
  ASSERT_TRUE(first.keep_in(journal));
  SentenceImportance second = create();
  ASSERT_TRUE(second.resume(second.journal(path)));
  EXPECT_EQ(second.done(), 1u);
  for (SentenceImportance* run : {&whole, &second}) {
    while (run->done() < run->steps()) {
      ASSERT_TRUE(run->step());
    }
  }
  EXPECT_EQ(importance_json(second.result()), importance_json(whole.result()));
  // The journal of other work is ignored.
  auto other =
      SentenceImportance::create(folder(), text_, {.importance = {.batch = 2}})
          .value();
  ASSERT_TRUE(other.resume(other.journal(path)));
  EXPECT_EQ(other.done(), 0u);
}

TEST_F(PruneExampleTest, AccuraciesInAJournalAreNotComputedAgain) {
  const TempFolder out;
  const auto model = SentenceClassifier::read(folder()).value();
  const std::vector<HeadId> order = scores().importance.order;
  PrunedAccuracy accuracy(folder(), *model.probe, text_);
  ASSERT_TRUE(accuracy.keep_in(Journal(out / "pruned", {})));
  const Answers answers = accuracy.without(order, 2).value();
  // Of a folder that is not there.
  PrunedAccuracy resumed(out / "none", *model.probe, text_);
  ASSERT_TRUE(resumed.keep_in(Journal(out / "pruned", {})));
  EXPECT_EQ(resumed.without(order, 2).value().right, answers.right);
  EXPECT_EQ(resumed.without(order, 3).error().code(), ErrorCode::io_error);
  resumed.remove_journal();
  EXPECT_EQ(out.count(), 0u);
}

TEST_F(PruneExampleTest, AtFullSizeRemovedHeadsAreZeros) {
  SentenceClassifier model = SentenceClassifier::read(folder()).value();
  Transformer& encoder = model.encoder.encoder();
  ASSERT_TRUE(remove_heads(encoder, std::vector<HeadId>{{0, 1}, {1, 2}}));
  const TempFolder out;
  ASSERT_TRUE(write_pruned(folder(), out.path(), encoder, {.full_size = true}));
  const auto zeroed = SentenceEncoder::read(out.path()).value();
  EXPECT_EQ(zeroed.encoder().heads_in(0).size(), 3u);
  const auto a = model.encoder.encode(text_.texts).value();
  const auto b = zeroed.encode(text_.texts).value();
  EXPECT_NEAR(mean_cosine(a.embeddings.view(), b.embeddings.view()).value(), 1,
              1e-6);
}

}  // namespace
}  // namespace headwise
