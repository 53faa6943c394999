// Each allocation fails once: an error comes back and nothing leaks (as the
// sanitizer sees it).
#include <gtest/gtest.h>

#include <string>

#include "headwise/models/write_model.h"
#include "headwise/prune/accuracy_curve.h"
#include "headwise/prune/pruned_model.h"
#include "headwise/prune/sentence_importance.h"
#include "headwise/train/sentence_classifier.h"
#include "interop/files.h"
#include "models/small_model.h"
#include "support/failures.h"
#include "train/small_texts.h"

namespace headwise {
namespace {

using testing_support::failures_of;

TEST(OutOfMemoryTest, EveryAllocationOfPruningMayFail) {
  using namespace testing_support;
  const Executor executor = Executor::with_threads(1).value();
  const LabelledText text = small_texts();
  const SentenceOptions options{.executor = &executor};
  const TempFolder plain;
  put_small_model(plain, small_params(small_config(BertFamily::bert)));
  const auto encoder = SentenceEncoder::read(plain.path()).value();
  const LabelProbe probe = train_probe(encoder, text, options).value();
  const TempFolder folder;
  const std::string source = folder / "model";
  ASSERT_TRUE(write_model(plain.path(), source, {.probe = &probe}));

  const auto create = [&] {
    return SentenceImportance::create(source, text, {.executor = &executor});
  };
  EXPECT_GT(failures_of(create, 17), 10);
  SentenceImportance run = create().value();
  const std::string scores = folder / "scores.json";
  Journal journal = run.journal(scores);
  EXPECT_GT(failures_of([&] { return run.keep_in(journal); }, 3), 10);
  EXPECT_GT(failures_of([&] { return run.resume(journal); }, 3), 10);
  while (run.done() < run.steps()) {
    ASSERT_TRUE(run.step());
  }
  const ImportanceFile file = run.result();
  EXPECT_GT(failures_of([&] { return write_importance(scores, file); }, 3), 10);
  EXPECT_GT(failures_of([&] { return read_importance(scores); }, 3), 10);
  EXPECT_GT(
      failures_of([&] { return check_importance(file, scores, encoder); }, 3),
      3);

  const std::vector<HeadId>& order = file.importance.order;
  PrunedAccuracy accuracy(source, probe, text, options);
  EXPECT_GT(failures_of([&] { return accuracy.without(order, 2); }, 37), 10);
  SentenceClassifier pruned = SentenceClassifier::read(source).value();
  BertEncoder& heads = pruned.encoder.encoder();
  ASSERT_TRUE(remove_heads(heads, order));
  EXPECT_GT(
      failures_of(
          [&] { return correct_on_texts(heads, encoder, text.texts, options); },
          17),
      10);
  const std::string out = folder / "out";
  EXPECT_GT(failures_of([&] { return write_pruned(source, out, heads); }, 17),
            10);
}

}  // namespace
}  // namespace headwise
