// Each allocation fails once: an error comes back and nothing leaks (as the
// sanitizer sees it).
#include <gtest/gtest.h>

#include <string>

#include "headwise/interop/journal.h"
#include "headwise/interop/sha256.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/train/classifier_run.h"
#include "headwise/train/sentence_classifier.h"
#include "headwise/train/task_run.h"
#include "interop/files.h"
#include "models/model_digest.h"
#include "models/small_model.h"
#include "support/failures.h"
#include "train/small_texts.h"

namespace headwise::testing_support {
namespace {

const Executor& one_thread() {
  static const Executor executor = Executor::with_threads(1).value();
  return executor;
}

TEST(OutOfMemoryTest, EveryAllocationOfATaskMayFail) {
  one_thread();  // made on first use
  EXPECT_GT(
      failures_of([] { return make_task_batch(Task::reverse, Seed{1}, 0, 2); }),
      3);
  EXPECT_GT(failures_of([] { return TaskRun::create({}); }), 10);
  TaskRun failing = TaskRun::create({}).value();
  EXPECT_GT(failures_of([&] { return failing.step(one_thread()); }, 7), 10);
  // A step that failed may have moved some parameters: another run goes on.
  TaskRun run = TaskRun::create({}).value();
  ASSERT_TRUE(run.step(one_thread()));
  EXPECT_GT(failures_of([&] { return run.score(one_thread()); }, 31), 10);
  EXPECT_GT(failures_of([&] { return run.uniform_score(one_thread()); }, 31),
            10);
  EXPECT_GT(failures_of([&] { return run.unseen_sequences(2); }), 3);
  const TempFolder folder;
  const std::string path = folder / "c.npz";
  EXPECT_GT(failures_of([&] { return run.write_params_to(path); }, 3), 10);
  EXPECT_GT(failures_of([&] { return run.write_checkpoint_to(path); }, 5), 10);
  const Checkpoint checkpoint = read_checkpoint(path).value();
  TaskRun other = TaskRun::create({}).value();
  EXPECT_GT(failures_of([&] { return other.resume(checkpoint, path); }, 3), 10);
}

TEST(OutOfMemoryTest, EveryAllocationOfLabelledTextMayFail) {
  const std::string bytes = "a longer label than that\tone\nb\ttwo\n";
  EXPECT_GT(failures_of([&] { return parse_labelled_text(bytes, "x.tsv"); }),
            3);
  const auto text = parse_labelled_text(bytes, "x.tsv").value();
  const auto labels = distinct_labels(text);
  EXPECT_GT(failures_of([&] { return targets_of(text, labels); }), 1);
  const TempFolder folder;
  const std::string path = folder / "x.tsv";
  put_file(path, bytes_of(bytes));
  EXPECT_GT(failures_of([&] { return read_labelled_text(path); }), 3);
  EXPECT_GT(failures_of([&] { return sha256_of_file(path); }), 1);
  Journal journal(path, {});
  EXPECT_GT(failures_of([&] { return journal.keep(3); }), 3);
}

TEST(OutOfMemoryTest, EveryAllocationOfAClassifierMayFail) {
  using namespace testing_support;
  const TempFolder folder;
  put_small_model(folder, small_params(small_config(SmallFamily::bert)));
  const std::string source = folder.path();
  EXPECT_GT(failures_of([&] { return SentenceClassifier::read(source); }, 7),
            10);
  const SentenceClassifier model = SentenceClassifier::read(source).value();
  const SentenceEncoder& encoder = model.encoder;
  EXPECT_GT(failures_of([&] { return digest_of_params(encoder); }, 3), 3);
  EXPECT_GT(failures_of([&] { return digest_of_model(source, encoder); }, 3),
            3);
  EXPECT_GT(failures_of([&] { return params_bytes(source); }, 3), 3);
  const LabelledText text = small_texts();
  const SentenceOptions options{.executor = &one_thread()};
  EXPECT_GT(
      failures_of([&] { return train_probe(encoder, text, options); }, 97), 10);
  const LabelProbe probe = train_probe(encoder, text, options).value();
  EXPECT_GT(
      failures_of([&] { return answers_of(encoder, probe, text, options); }, 5),
      10);
  const auto examples_of = [&] {
    return ClassifierExamples::of(text, encoder, probe, options);
  };
  EXPECT_GT(failures_of(examples_of, 3), 10);
  const auto run_of = [&](SentenceClassifier of) {
    LabelProbe head = train_probe(of.encoder, text, options).value();
    return ClassifierRun::create({.batch = 4}, std::move(of.encoder),
                                 std::move(head), examples_of().value());
  };
  const auto new_run = [&] {
    return run_of(SentenceClassifier::read(source).value()).value();
  };
  auto failing = new_run();
  EXPECT_GT(failures_of([&] { return failing.step(one_thread()); }, 11), 10);
  // A step that failed may have moved some parameters: another run goes on.
  auto run = new_run();
  ASSERT_TRUE(run.step(one_thread()));
  const std::string path = folder / "c.npz";
  EXPECT_GT(failures_of([&] { return run.write_checkpoint_to(path); }, 7), 10);
  const Checkpoint checkpoint = read_checkpoint(path).value();
  EXPECT_GT(failures_of([&] { return run.resume(checkpoint, path); }, 7), 10);
  // What is passed by value is the caller's.
  const auto create = [&] {
    SentenceClassifier own =
        not_counted([&] { return SentenceClassifier::read(source).value(); });
    LabelProbe head = not_counted(
        [&] { return train_probe(own.encoder, text, options).value(); });
    ClassifierExamples examples =
        not_counted([&] { return examples_of().value(); });
    return ClassifierRun::create({.batch = 4}, std::move(own.encoder),
                                 std::move(head), std::move(examples));
  };
  EXPECT_GT(failures_of(create), 1);
}

}  // namespace
}  // namespace headwise::testing_support
