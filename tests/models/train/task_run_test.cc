#include "headwise/train/task_run.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headwise/module/optimizer.h"
#include "interop/files.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "train/run_steps.h"
#include "train/task_model.h"

namespace headwise::testing_support {
namespace {

TaskSettings settings_of(Task task, Scoring scoring = Scoring::dot) {
  return {.task = task, .scoring = scoring, .seed = Seed{3}};
}

TaskSettings in_bf16(TaskSettings settings) {
  settings.arithmetic = Arithmetic::bf16;
  return settings;
}

std::vector<TaskSettings> every_task_and_scoring() {
  std::vector<TaskSettings> all;
  for (const Task task : kTasks) {
    for (const Scoring scoring : {Scoring::dot, Scoring::additive}) {
      all.push_back(settings_of(task, scoring));
    }
  }
  return all;
}

// ---- Gradients. ----

TaskModelConfig small_model(Scoring scoring = Scoring::dot) {
  return {.embed_dim = 16, .num_heads = 2, .scoring = scoring};
}

constexpr std::size_t kPiece = 64;  // elements that are moved together

// Elements first, first + 1, ... of one parameter.
struct Piece {
  std::string_view name;
  std::size_t first;
  std::span<const float> direction;
};

// The loss when a piece of a new model is moved by `distance` along its
// direction.
double loss_at(const TaskModelConfig& config, const TaskBatch& batch,
               const Piece& piece, double distance) {
  const Executor executor = Executor::with_threads(1).value();
  auto model = TaskModel::create(config, Seed{3}).value();
  EXPECT_TRUE(
      model.update([&](std::string_view which, std::span<float> values) {
        for (std::size_t n = 0;
             which == piece.name && n < piece.direction.size(); ++n) {
          values[piece.first + n] +=
              static_cast<float>(distance * piece.direction[n]);
        }
        return ok();
      }));
  return model.answer(batch, executor).value().loss;
}

TEST(TaskModelTest, GradientsAreTheSlopesOfTheLoss) {
  const Executor executor = Executor::with_threads(1).value();
  for (const TaskSettings& settings : every_task_and_scoring()) {
    const auto batch = make_task_batch(settings.task, Seed{3}, 0, 4).value();
    const TaskModelConfig config = small_model(settings.scoring);
    const auto model = TaskModel::create(config, Seed{3}).value();
    const auto step = model.differentiate(batch, executor).value();
    EXPECT_NEAR(step.loss, model.answer(batch, executor).value().loss, 1e-6);
    std::set<std::string> names;
    for (const auto& [name, gradient] : step.params) {
      names.insert(name);
      for (std::size_t first = 0; first < gradient.size(); first += kPiece) {
        std::vector<float> direction(std::min(kPiece, gradient.size() - first));
        RandomStream(Seed{5}, static_cast<std::uint32_t>(first))
            .fill_uniform(direction, -1, 1);
        double expected = 0;
        for (std::size_t n = 0; n < direction.size(); ++n) {
          expected += static_cast<double>(direction[n]) * gradient(first + n);
        }
        constexpr double kStep = 4e-3;
        const Piece piece{name, first, direction};
        const double slope = (loss_at(config, batch, piece, kStep) -
                              loss_at(config, batch, piece, -kStep)) /
                             (2 * kStep);
        EXPECT_NEAR(slope, expected, 3e-5 + 5e-3 * std::abs(expected))
            << name_of(settings.task) << " " << name_of(settings.scoring) << " "
            << name << " from " << first;
      }
    }
    std::set<std::string> params;
    for (const auto& [name, view] : model.params()) {
      params.insert(name);
    }
    EXPECT_EQ(names, params);
    EXPECT_EQ(params.contains("w_score.weight"),
              settings.scoring == Scoring::additive);
  }
}

TEST(TaskModelTest, EachParameterHasRandomNumbersOfItsOwn) {
  const auto model =
      TaskModel::create(small_model(Scoring::additive), Seed{3}).value();
  std::set<float> drawn;
  std::size_t count = 0;
  for (const auto& [name, view] : model.params()) {
    if (view.extents().size() == 2 && name != "embedding.weight") {
      // In units of the bound that they are drawn up to.
      const auto inputs = static_cast<float>(view.extents()[1]);
      drawn.insert(*static_cast<const float*>(view.data()) * std::sqrt(inputs));
      ++count;
    }
  }
  EXPECT_EQ(count, 6u);
  EXPECT_EQ(drawn.size(), count);
}

TEST(TaskModelTest, UniformAttendsToAllKeysAlike) {
  const Executor executor = Executor::with_threads(1).value();
  for (const TaskSettings& settings : every_task_and_scoring()) {
    const auto batch =
        make_task_batch(settings.task, settings.seed, 0, 4).value();
    const auto model =
        TaskModel::create({.scoring = settings.scoring, .uniform = true},
                          settings.seed)
            .value();
    const auto answers = model.answer(batch, executor).value();
    for (const double share : answers.on_answer) {
      EXPECT_NEAR(share / static_cast<double>(answers.asked),
                  1.0 / static_cast<double>(shape_of(settings.task).key_length),
                  1e-6);
    }
  }
}

TEST(TaskModelTest, EachHeadHasAShareOfItsOwn) {
  const Executor executor = Executor::with_threads(1).value();
  const auto batch = make_task_batch(Task::recall, Seed{3}, 0, 4).value();
  const auto model = TaskModel::create(small_model(), Seed{3}).value();
  const auto on_answer = model.answer(batch, executor).value().on_answer;
  ASSERT_EQ(on_answer.size(), 2u);
  EXPECT_NE(on_answer[0], on_answer[1]);
}

// ---- The run. ----

TEST(TaskRunTest, EachStepSeesSequencesOfItsOwn) {
  const Executor executor = Executor::with_threads(1).value();
  for (TaskSettings settings : every_task_and_scoring()) {
    settings.learning_rate = 0;  // the model stays as it is
    auto run = TaskRun::create(settings).value();
    take_steps(run, 3);
    const auto model =
        TaskModel::create({.scoring = settings.scoring}, settings.seed).value();
    for (std::size_t n = 0; n < 3; ++n) {
      const auto batch =
          make_task_batch(settings.task, settings.seed, n * 32, 32).value();
      EXPECT_EQ(run.losses()[n],
                model.differentiate(batch, executor).value().loss);
    }
  }
}

TEST(TaskRunTest, ThreadsChangeNoBit) {
  for (const TaskSettings& settings : every_task_and_scoring()) {
    std::vector<Bytes> runs;
    for (std::size_t threads = 1; threads <= 3; ++threads) {
      auto run = TaskRun::create(settings).value();
      take_steps(run, 6, threads);
      runs.push_back(saved_bytes(run));
    }
    EXPECT_EQ(runs[0], runs[1]);
    EXPECT_EQ(runs[0], runs[2]);
  }
}

TEST(TaskRunTest, ResumedItHasTheBitsOfOneThatNeverStopped) {
  std::vector<TaskSettings> all = every_task_and_scoring();
  all.push_back(in_bf16(settings_of(Task::recall)));
  for (const TaskSettings& settings : all) {
    auto whole = TaskRun::create(settings).value();
    take_steps(whole, 8);
    const TempFolder folder;
    const std::string path = folder / "c.npz";
    auto first = TaskRun::create(settings).value();
    take_steps(first, 3);
    ASSERT_TRUE(first.write_checkpoint_to(path));
    const Checkpoint checkpoint = read_checkpoint(path).value();
    auto second = TaskRun::create(task_settings_of(checkpoint)).value();
    const Status s = second.resume(checkpoint, path);
    ASSERT_TRUE(s) << s.error().message();
    EXPECT_EQ(second.steps(), 3u);
    take_steps(second, 5);
    EXPECT_EQ(saved_bytes(second), saved_bytes(whole));
  }
}

TEST(TaskRunTest, InBf16ItLearnsAsMuchWithOtherBits) {
  for (const Scoring scoring : {Scoring::dot, Scoring::additive}) {
    const TaskSettings settings = settings_of(Task::reverse, scoring);
    auto exact = TaskRun::create(settings).value();
    auto one = TaskRun::create(in_bf16(settings)).value();
    auto three = TaskRun::create(in_bf16(settings)).value();
    take_steps(exact, 20);
    take_steps(one, 20, 1);
    take_steps(three, 20, 3);
    EXPECT_EQ(saved_bytes(one), saved_bytes(three));
    EXPECT_NE(one.losses(), exact.losses());
    for (std::size_t n = 0; n < 20; ++n) {
      EXPECT_NEAR(one.losses()[n], exact.losses()[n], 0.02) << n;
    }
    EXPECT_LT(one.losses().back(), one.losses().front() - 0.1);
  }
}

TEST(TaskRunTest, ACheckpointOfAnotherArithmeticIsAnError) {
  const TempFolder folder;
  const std::string path = folder / "c.npz";
  const TaskSettings exact = settings_of(Task::recall);
  for (const auto& [settings, other] :
       {std::pair(exact, in_bf16(exact)), std::pair(in_bf16(exact), exact)}) {
    ASSERT_TRUE(TaskRun::create(settings).value().write_checkpoint_to(path));
    const Checkpoint checkpoint = read_checkpoint(path).value();
    EXPECT_EQ(task_settings_of(checkpoint).arithmetic, settings.arithmetic);
    EXPECT_THAT(
        TaskRun::create(other).value().resume(checkpoint, path),
        HasError({.code = ErrorCode::bad_data,
                  .operation = "train",
                  .file = path,
                  .given = {std::string(name_of(settings.arithmetic))},
                  .expected = {std::string(name_of(other.arithmetic))}}));
  }
}

TEST(TaskRunTest, ACheckpointOfOtherSettingsIsAnError) {
  const TempFolder folder;
  const std::string path = folder / "c.npz";
  const TaskSettings settings = settings_of(Task::recall);
  auto run = TaskRun::create(settings).value();
  take_steps(run, 1);
  ASSERT_TRUE(run.write_checkpoint_to(path));
  Checkpoint checkpoint = read_checkpoint(path).value();
  const auto resumed = [&](const TaskSettings& other) {
    return TaskRun::create(other).value().resume(checkpoint, path);
  };
  const auto is_of_another = [&](std::string operation,
                                 std::vector<std::string> given,
                                 std::vector<std::string> expected) {
    return HasError({.code = ErrorCode::bad_data,
                     .operation = std::move(operation),
                     .file = path,
                     .given = std::move(given),
                     .expected = std::move(expected)});
  };
  TaskSettings other = settings;
  other.task = Task::reverse;
  EXPECT_THAT(resumed(other), is_of_another("read_checkpoint",
                                            {"task", "recall"}, {"reverse"}));
  other = settings;
  other.scoring = Scoring::additive;
  EXPECT_THAT(resumed(other), is_of_another("read_checkpoint",
                                            {"scoring", "dot"}, {"additive"}));
  other = settings;
  other.learning_rate = 1;
  EXPECT_THAT(resumed(other), is_of_another("read_checkpoint",
                                            {"learning_rate", "0.003"}, {"1"}));
  other = settings;
  other.seed = Seed{4};
  EXPECT_THAT(resumed(other), is_of_another("train", {"seed", "3"}, {"4"}));
  checkpoint.records.at("loss").push_back(1);
  EXPECT_THAT(resumed(settings), is_of_another("train", {"losses"}, {"1"}));
}

TEST(TaskRunTest, ALossThatIsNotFiniteStopsItWithTheStepAndTheFirst) {
  TaskSettings settings = settings_of(Task::recall);
  settings.learning_rate = 1e20;
  auto run = TaskRun::create(settings).value();
  const Executor executor = Executor::with_threads(1).value();
  Status s = run.step(executor);
  for (int n = 0; s && n < 10; ++n) {
    s = run.step(executor);
  }
  EXPECT_THAT(s, HasError({.code = ErrorCode::out_of_range,
                           .operation = "train: step 2",
                           .given = {"nan", "output"}}));
  EXPECT_EQ(run.steps(), 1u);

  settings.learning_rate = 1e39;
  auto overflowing = TaskRun::create(settings).value();
  s = overflowing.step(executor);
  EXPECT_THAT(s, HasError({.code = ErrorCode::out_of_range,
                           .operation = "train: step 1",
                           .argument = "embedding.weight",
                           .given = {"inf"}}));
}

TEST(TaskRunTest, SequencesThatScoresAreTakenOnAreNotTrainedOn) {
  const auto run = TaskRun::create(settings_of(Task::recall)).value();
  const auto unseen = run.unseen_sequences(100).value();
  const auto seen = make_task_batch(Task::recall, Seed{3}, 0, 20000).value();
  std::set<std::vector<TokenId>> trained_on;
  const auto row = [](const TaskBatch& batch, std::size_t b) {
    const auto tokens = batch.tokens.elements().subspan(b * 12, 12);
    return std::vector<TokenId>(tokens.begin(), tokens.end());
  };
  for (std::size_t b = 0; b < 20000; ++b) {
    trained_on.insert(row(seen, b));
  }
  for (std::size_t b = 0; b < 100; ++b) {
    EXPECT_FALSE(trained_on.contains(row(unseen, b)));
  }
}

}  // namespace
}  // namespace headwise::testing_support
