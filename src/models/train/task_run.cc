#include "headwise/train/task_run.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "base/out_of_memory.h"
#include "headwise/base/any_view.h"
#include "headwise/interop/npz.h"
#include "headwise/module/optimizer.h"
#include "train/failed_step.h"
#include "train/finite_values.h"
#include "train/resumed_checkpoint.h"
#include "train/task_model.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr TaskModelConfig kModel{};
constexpr std::size_t kTaskBatch = 32;      // sequences per step
constexpr double kTaskLargestGradient = 1;  // norm of all gradients of a model
constexpr std::string_view kUniform = "uniform/";  // begins the twin's names
constexpr std::string_view kTaskLoss = "loss";
constexpr std::string_view kUniformLoss = "uniform_loss";

// The sequences that scores are computed on: far from those trained on.
constexpr std::uint64_t kTaskFirstUnseen = std::uint64_t{1} << 63;
constexpr std::size_t kUnseenBatches = 10;
constexpr std::size_t kUnseenBatch = 100;

Status clip(std::vector<ParamGradient>& gradients) {
  std::vector<std::span<float>> all;
  for (ParamGradient& gradient : gradients) {
    HEADWISE_TRY(check_finite_values("the gradient of " + gradient.name,
                                     gradient.values.elements()));
    all.push_back(gradient.values.elements());
  }
  const auto norm = clip_gradient_norm(all, kTaskLargestGradient);
  return norm ? ok() : norm.error();
}

}  // namespace

TaskSettings task_settings_of(const Checkpoint& checkpoint) {
  TaskSettings settings;
  settings.seed = checkpoint.seed;
  if (const auto* const name = setting_of<std::string>(checkpoint, "task")) {
    settings.task = task_named(*name).value_or(settings.task);
  }
  const auto* const scoring = setting_of<std::string>(checkpoint, "scoring");
  if (scoring != nullptr && *scoring == name_of(Scoring::additive)) {
    settings.scoring = Scoring::additive;
  }
  if (const auto* const rate =
          setting_of<double>(checkpoint, "learning_rate")) {
    settings.learning_rate = *rate;
  }
  settings.arithmetic = arithmetic_in(checkpoint.config);
  return settings;
}

class TaskRun::State {
 public:
  State(const TaskSettings& settings, TaskModel model, TaskModel uniform,
        Optimizer optimizer)
      : settings_(settings),
        model_(std::move(model)),
        uniform_(std::move(uniform)),
        optimizer_(std::move(optimizer)) {}

  Status resume(const Checkpoint& checkpoint, const std::string& path);
  Status step(const Executor& executor);
  Status write_checkpoint_to(const std::string& path) const;
  Status write_params_to(const std::string& path) const;
  Result<TaskScore> score_of(const TaskModel& model,
                             const Executor& executor) const;

  const TaskSettings& settings() const { return settings_; }
  const TaskModel& model() const { return model_; }
  const TaskModel& uniform() const { return uniform_; }
  const std::vector<double>& losses() const { return losses_; }
  const std::vector<double>& uniform_losses() const { return uniform_losses_; }

 private:
  CheckpointView saved() const;
  Result<double> step_of(TaskModel& model, std::string_view prefix,
                         const TaskBatch& batch, const Executor& executor);

  TaskSettings settings_;
  TaskModel model_;
  TaskModel uniform_;
  Optimizer optimizer_;
  std::vector<double> losses_;
  std::vector<double> uniform_losses_;
};

// ---- Steps. ----

// One step of one model; its loss.
Result<double> TaskRun::State::step_of(TaskModel& model,
                                       std::string_view prefix,
                                       const TaskBatch& batch,
                                       const Executor& executor) {
  HEADWISE_ASSIGN(auto gradients, model.differentiate(batch, executor));
  HEADWISE_TRY(clip(gradients.params));
  const auto change = [&](std::string_view name,
                          std::span<float> values) -> Status {
    const auto gradient =
        std::ranges::find(gradients.params, name, &ParamGradient::name);
    HEADWISE_TRY(optimizer_.update(std::string(prefix) + std::string(name),
                                   values, gradient->values.elements()));
    return check_finite_values(name, values);
  };
  HEADWISE_TRY(model.update(change));
  return gradients.loss;
}

Status TaskRun::State::step(const Executor& executor) {
  const std::uint64_t steps = losses_.size();
  HEADWISE_ASSIGN(const auto batch,
                  make_task_batch(settings_.task, settings_.seed,
                                  steps * kTaskBatch, kTaskBatch));
  optimizer_.begin_step();
  const auto loss = step_of(model_, "", batch, executor);
  if (!loss) {
    return failed_step(steps + 1, loss.error());
  }
  const auto uniform_loss = step_of(uniform_, kUniform, batch, executor);
  if (!uniform_loss) {
    return failed_step(steps + 1, uniform_loss.error(),
                       "uniform attention weights");
  }
  losses_.push_back(*loss);
  uniform_losses_.push_back(*uniform_loss);
  return ok();
}

// ---- Scores. ----

Result<TaskScore> TaskRun::State::score_of(const TaskModel& model,
                                           const Executor& executor) const {
  TaskScore score{0, 0, std::vector<double>(kModel.num_heads)};
  std::size_t asked = 0;
  std::size_t right = 0;
  for (std::size_t n = 0; n < kUnseenBatches; ++n) {
    HEADWISE_ASSIGN(
        const auto batch,
        make_task_batch(settings_.task, settings_.seed,
                        kTaskFirstUnseen + n * kUnseenBatch, kUnseenBatch));
    HEADWISE_ASSIGN(const auto answers, model.answer(batch, executor));
    score.loss += answers.loss / static_cast<double>(kUnseenBatches);
    asked += answers.asked;
    right += answers.right;
    for (std::size_t h = 0; h < score.on_answer.size(); ++h) {
      score.on_answer[h] += answers.on_answer[h];
    }
  }
  for (double& share : score.on_answer) {
    share /= static_cast<double>(asked);
  }
  score.accuracy = static_cast<double>(right) / static_cast<double>(asked);
  return score;
}

// ---- Files. ----

// Without the optimiser.
CheckpointView TaskRun::State::saved() const {
  CheckpointView run{
      .step = losses_.size(),
      .seed = settings_.seed,
      .config = {{"task", std::string(name_of(settings_.task))},
                 {"embed_dim", static_cast<std::int64_t>(kModel.embed_dim)},
                 {"num_heads", static_cast<std::int64_t>(kModel.num_heads)},
                 {"scoring", std::string(name_of(settings_.scoring))},
                 {"batch", static_cast<std::int64_t>(kTaskBatch)},
                 {"learning_rate", settings_.learning_rate}},
      .params = model_.params(),
      .records = {{std::string(kTaskLoss), losses_},
                  {std::string(kUniformLoss), uniform_losses_}}};
  put_arithmetic(settings_.arithmetic, run.config);
  for (const auto& [name, view] : uniform_.params()) {
    run.params.emplace(std::string(kUniform) + name, view);
  }
  return run;
}

Status TaskRun::State::write_checkpoint_to(const std::string& path) const {
  return write_run(path, saved(), optimizer_.state());
}

Status TaskRun::State::write_params_to(const std::string& path) const {
  std::map<std::string, AnyView> params = model_.params();
  std::erase_if(params, [](const auto& param) {
    return param.first.starts_with("classifier.");
  });
  const auto num_heads = static_cast<std::int64_t>(kModel.num_heads);
  params.emplace("num_heads",
                 TensorView<const std::int64_t, 1>(&num_heads, {1}));
  return write_npz(path, params);
}

Status TaskRun::State::resume(const Checkpoint& checkpoint,
                              const std::string& path) {
  HEADWISE_TRY(check_resumed(checkpoint, path, saved()));
  HEADWISE_TRY(restore_optimizer(checkpoint.optimizer, path, optimizer_));
  const auto set = [&](TaskModel& model, std::string_view prefix) {
    return model.update([&](std::string_view name, std::span<float> values) {
      restore_param(checkpoint, std::string(prefix) + std::string(name),
                    values);
      return ok();
    });
  };
  HEADWISE_TRY(set(model_, ""));
  HEADWISE_TRY(set(uniform_, kUniform));
  losses_ = checkpoint.records.at(std::string(kTaskLoss));
  uniform_losses_ = checkpoint.records.at(std::string(kUniformLoss));
  return ok();
}

// ---- The public class. ----

Result<TaskRun> TaskRun::create(const TaskSettings& settings) try {
  TaskModelConfig config = kModel;
  config.scoring = settings.scoring;
  config.arithmetic = settings.arithmetic;
  HEADWISE_ASSIGN(auto model, TaskModel::create(config, settings.seed));
  config.uniform = true;
  HEADWISE_ASSIGN(auto uniform, TaskModel::create(config, settings.seed));
  HEADWISE_ASSIGN(
      auto optimizer,
      Optimizer::create(AdamWConfig{.learning_rate = settings.learning_rate}));
  return TaskRun(std::make_unique<State>(
      settings, std::move(model), std::move(uniform), std::move(optimizer)));
} catch (...) {
  return caught_out_of_memory();
}

Status TaskRun::resume(const Checkpoint& checkpoint, const std::string& path) {
  return catching_out_of_memory(
      [&] { return state_->resume(checkpoint, path); });
}

Status TaskRun::step(const Executor& executor) {
  return catching_out_of_memory([&] { return state_->step(executor); });
}

Result<TaskScore> TaskRun::score(const Executor& executor) const {
  return catching_out_of_memory(
      [&] { return state_->score_of(state_->model(), executor); });
}

Result<TaskScore> TaskRun::uniform_score(const Executor& executor) const {
  return catching_out_of_memory(
      [&] { return state_->score_of(state_->uniform(), executor); });
}

Status TaskRun::write_checkpoint_to(const std::string& path) const {
  return catching_out_of_memory(
      [&] { return state_->write_checkpoint_to(path); });
}

Status TaskRun::write_params_to(const std::string& path) const {
  return catching_out_of_memory([&] { return state_->write_params_to(path); });
}

Result<TaskBatch> TaskRun::unseen_sequences(std::size_t count) const {
  return make_task_batch(settings().task, settings().seed, kTaskFirstUnseen,
                         count);
}

const TaskSettings& TaskRun::settings() const { return state_->settings(); }
const std::vector<double>& TaskRun::losses() const { return state_->losses(); }
const std::vector<double>& TaskRun::uniform_losses() const {
  return state_->uniform_losses();
}

}  // namespace headwise::inline HEADWISE_ABI
