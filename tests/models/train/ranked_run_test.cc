// Several ranks train one model: everything has the bits of one process.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "headwise/distribute/thread_ranks.h"
#include "headwise/train/classifier_run.h"
#include "headwise/train/sentence_classifier.h"
#include "train/small_run.h"
#include "train/small_texts.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t kMostRanks = 7;  // more than a batch has examples

class RankedRunTest : public SmallRunTest {
 protected:
  // Parameters, the optimiser's state and losses, as bytes.
  Bytes checkpoint_of(const ClassifierRun& run,
                      const Communicator& group) const {
    const std::string path = folder_ / "checkpoint.npz";
    EXPECT_TRUE(run.write_checkpoint_to(path));
    return group.rank() == 0 ? file_bytes(path) : Bytes();
  }
  template <class Work>
  static void on_ranks(std::size_t ranks, const Work& work) {
    const auto ended = run_ranks(ranks, [&](Communicator& group) -> Status {
      work(group);
      return ok();
    });
    ASSERT_TRUE(ended);
    for (const Status& status : *ended) {
      EXPECT_TRUE(status) << status.error().message();
    }
  }
};

TEST_F(RankedRunTest, AnyNumberOfRanksHasTheBitsOfOne) {
  ClassifierRun alone = run(nullptr);
  take_steps(alone, alone.total_steps());
  const Bytes expected = checkpoint_of(alone, *Communicator::self());
  const std::vector<double>& losses = alone.losses();
  for (std::size_t ranks = 1; ranks <= kMostRanks; ++ranks) {
    on_ranks(ranks, [&](Communicator& group) {
      ClassifierRun run = this->run(&group);
      take_steps(run, run.total_steps());
      EXPECT_EQ(run.losses(), losses) << ranks;
      const auto bytes = checkpoint_of(run, group);
      EXPECT_TRUE(group.rank() != 0 || bytes == expected) << ranks;
    });
  }
}

TEST_F(RankedRunTest, InBf16TheyHaveTheBitsOfOne) {
  const ClassifierSettings settings = small_settings(Arithmetic::bf16);
  ClassifierRun alone = run(nullptr, settings);
  take_steps(alone, alone.total_steps());
  const Bytes expected = checkpoint_of(alone, *Communicator::self());
  for (const std::size_t ranks : {2u, 5u}) {
    on_ranks(ranks, [&](Communicator& group) {
      ClassifierRun run = this->run(&group, settings);
      take_steps(run, run.total_steps());
      const auto bytes = checkpoint_of(run, group);
      EXPECT_TRUE(group.rank() != 0 || bytes == expected) << ranks;
    });
  }
}

TEST_F(RankedRunTest, ItMayBeResumedOnAnotherNumberOfRanks) {
  ClassifierRun alone = run(nullptr);
  take_steps(alone, alone.total_steps());
  const Bytes expected = checkpoint_of(alone, *Communicator::self());
  on_ranks(3, [&](Communicator& group) {
    ClassifierRun run = this->run(&group);
    take_steps(run, 2);
    checkpoint_of(run, group);
  });
  const Checkpoint half = read_checkpoint(folder_ / "checkpoint.npz").value();
  ASSERT_EQ(half.step, 2u);
  for (const std::size_t ranks : {1u, 2u, 5u}) {
    on_ranks(ranks, [&](Communicator& group) {
      ClassifierRun run = this->run(&group);
      ASSERT_TRUE(run.resume(half, "half.npz"));
      take_steps(run, run.total_steps());
      const Bytes bytes = checkpoint_of(run, group);
      EXPECT_TRUE(group.rank() != 0 || bytes == expected) << ranks;
    });
  }
}

// Steps of its own before leave nothing behind.
TEST_F(RankedRunTest, ARunThatHasTakenStepsMayBeResumed) {
  ClassifierRun alone = run(nullptr);
  take_steps(alone, 2);
  const Bytes at_half = checkpoint_of(alone, *Communicator::self());
  const Checkpoint half = read_checkpoint(folder_ / "checkpoint.npz").value();
  take_steps(alone, alone.total_steps());
  const Bytes at_end = checkpoint_of(alone, *Communicator::self());
  for (const bool is_written_first : {true, false}) {
    on_ranks(2, [&](Communicator& group) {
      ClassifierRun run = this->run(&group);
      take_steps(run, 3);
      ASSERT_TRUE(run.resume(half, "half.npz"));
      if (is_written_first) {
        const Bytes bytes = checkpoint_of(run, group);
        EXPECT_TRUE(group.rank() != 0 || bytes == at_half);
      }
      take_steps(run, run.total_steps());
      const Bytes bytes = checkpoint_of(run, group);
      EXPECT_TRUE(group.rank() != 0 || bytes == at_end) << is_written_first;
    });
  }
}

TEST_F(RankedRunTest, EveryRankHasTheWholeModel) {
  ClassifierRun alone = run(nullptr);
  take_steps(alone, alone.total_steps());
  const auto embeddings_of = [](const ClassifierRun& run) {
    const auto done = run.encoder().encode(small_texts().texts).value();
    const auto elements = done.embeddings.elements();
    return std::vector<float>(elements.begin(), elements.end());
  };
  on_ranks(3, [&](Communicator& group) {
    ClassifierRun run = this->run(&group);
    take_steps(run, run.total_steps());
    EXPECT_EQ(embeddings_of(run), embeddings_of(alone));
  });
}

TEST_F(RankedRunTest, ALossThatIsNotFiniteEndsAllWithTheSameMessage) {
  std::vector<std::string> messages(3);
  const auto ended = run_ranks(3, [&](Communicator& group) -> Status {
    ClassifierSettings settings = kSmallSettings;
    settings.learning_rate = 1e30;
    ClassifierRun run = this->run(&group, settings);
    Status s = ok();
    while (s && run.steps() < run.total_steps()) {
      s = run.step(Executor::with_threads(1).value());
    }
    messages[group.rank()] = s ? "" : s.error().message();
    return s;
  });
  ASSERT_TRUE(ended);
  ClassifierSettings settings = kSmallSettings;
  settings.learning_rate = 1e30;
  ClassifierRun alone = run(nullptr, settings);
  Status s = ok();
  while (s && alone.steps() < alone.total_steps()) {
    s = alone.step(Executor::with_threads(1).value());
  }
  ASSERT_FALSE(s);
  for (const std::string& message : messages) {
    EXPECT_EQ(message, s.error().message());
  }
}

TEST_F(RankedRunTest, AllRanksHaveTheSameRunAndCheckpoint) {
  const auto expect_error = [](const std::string& what,
                               FunctionRef<Status(Communicator&)> work) {
    const auto ended = run_ranks(2, work).value();
    for (const Status& status : ended) {
      ASSERT_FALSE(status) << what;
      const std::string message = status.error().message();
      EXPECT_EQ(status.error().code(), ErrorCode::invalid_argument) << message;
      EXPECT_NE(message.find(what), std::string::npos) << message;
      EXPECT_NE(message.find("on rank 1"), std::string::npos) << message;
    }
  };
  for (int differs = 0; differs < 4; ++differs) {
    expect_error("the run", [&](Communicator& group) -> Status {
      ClassifierExamples own = small_examples();
      ClassifierSettings settings = kSmallSettings;
      if (group.rank() == 1) {
        own.sha256 = differs == 0 ? "other data" : own.sha256;
        own.targets[0] = differs == 1 ? 2 : own.targets[0];
        settings.epochs = differs == 2 ? 9 : settings.epochs;
        settings.arithmetic =
            differs == 3 ? Arithmetic::bf16 : settings.arithmetic;
      }
      const auto run =
          ClassifierRun::create(settings, encoder(settings.arithmetic), probe(),
                                std::move(own), &group);
      return run ? ok() : Status(run.error());
    });
  }
  ClassifierRun alone = run(nullptr);
  std::vector<Checkpoint> checkpoints;
  for (const std::uint64_t steps : {1u, 2u}) {
    take_steps(alone, steps);
    checkpoint_of(alone, *Communicator::self());
    checkpoints.push_back(read_checkpoint(folder_ / "checkpoint.npz").value());
  }
  expect_error("the checkpoint", [&](Communicator& group) {
    ClassifierRun run = this->run(&group);
    return run.resume(checkpoints[group.rank()], "half.npz");
  });
}

TEST_F(RankedRunTest, AClassifierTrainedTogetherHasTheBitsOfOne) {
  const SentenceEncoder encoder = this->encoder();
  const LabelledText text = small_texts();
  const LabelProbe expected = train_probe(encoder, text).value();
  for (const std::size_t ranks : {2u, 3u, 13u}) {  // 10 texts
    on_ranks(ranks, [&](Communicator& group) {
      const auto probe = train_probe(encoder, text, {}, &group).value();
      const auto bits = [](const LabelProbe& of) {
        const auto weight = of.linear().weight();
        return std::vector<float>(weight.data(), weight.data() + weight.size());
      };
      EXPECT_EQ(bits(probe), bits(expected));
      EXPECT_EQ(answers_of(encoder, probe, text, {}, &group)->right,
                answers_of(encoder, expected, text)->right);
    });
  }
}

}  // namespace
}  // namespace headwise::testing_support
