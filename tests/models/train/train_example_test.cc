// What `headwise train` does, with the library alone: with public headers only.
#include <gtest/gtest.h>

#include "headwise/interop/npz.h"
#include "headwise/models/write_model.h"
#include "headwise/train/classifier_run.h"
#include "headwise/train/sentence_classifier.h"
#include "headwise/train/task_run.h"
#include "interop/files.h"
#include "models/small_model.h"
#include "train/small_texts.h"

namespace headwise {
namespace {

// headwise train --task reverse --steps 5 --out FOLDER
TEST(TrainExampleTest, ASmallTask) {
  const TempFolder folder;
  TaskRun run = TaskRun::create({.task = Task::reverse}).value();
  while (run.steps() < 5) {
    ASSERT_TRUE(run.step());
  }
  ASSERT_TRUE(run.write_checkpoint_to(folder / "checkpoint.npz"));
  ASSERT_TRUE(run.write_params_to(folder / "params.npz"));

  EXPECT_LT(run.losses().back(), run.losses().front());
  EXPECT_GT(run.score().value().accuracy, 0);
  EXPECT_TRUE(read_npz(folder / "params.npz").value().contains("w_q.weight"));
}

// headwise train --model SOURCE --data TEXTS --train all --out OUT
TEST(TrainExampleTest, ASentenceClassifier) {
  using namespace testing_support;
  const TempFolder source;
  put_small_model(source, small_params(small_config(SmallFamily::bert)));
  const LabelledText text = small_texts();

  SentenceClassifier model = SentenceClassifier::read(source.path()).value();
  LabelProbe probe = train_probe(model.encoder, text).value();
  auto examples = ClassifierExamples::of(text, model.encoder, probe).value();
  ClassifierRun run =
      ClassifierRun::create({.batch = 4, .epochs = 2, .learning_rate = 0.01},
                            std::move(model.encoder), std::move(probe),
                            std::move(examples))
          .value();
  while (run.steps() < run.total_steps()) {
    ASSERT_TRUE(run.step());
  }
  const TempFolder out;
  ASSERT_TRUE(write_model(source.path(), out.path(), run.changes()));

  const auto trained = SentenceClassifier::read(out.path()).value();
  const Answers answers =
      answers_of(trained.encoder, *trained.probe, text).value();
  EXPECT_EQ(answers.count(), 10u);
  EXPECT_GT(answers.interval().low, 0.7);
}

}  // namespace
}  // namespace headwise
