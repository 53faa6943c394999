#include "train_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "finite_values.h"
#include "resumed_checkpoint.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

constexpr TrainModelConfig kModel{};
constexpr std::size_t kBatch = 32;      // sequences a step
constexpr double kLargestGradient = 1;  // norm of all gradients of a model
constexpr std::string_view kUniform = "uniform/";  // begins the twin's names
constexpr std::string_view kLoss = "loss";
constexpr std::string_view kUniformLoss = "uniform_loss";

// The sequences that scores are taken on: far behind those trained on.
constexpr std::uint64_t kFirstUnseen = std::uint64_t{1} << 63;
constexpr std::size_t kUnseenBatches = 10;
constexpr std::size_t kUnseenBatch = 100;

Status clip(std::vector<ParamGradient>& gradients) {
  std::vector<std::span<float>> all;
  for (ParamGradient& gradient : gradients) {
    HEADWISE_TRY(check_finite_values("the gradient of " + gradient.name,
                                     gradient.values.elements()));
    all.push_back(gradient.values.elements());
  }
  const auto norm = clip_gradient_norm(all, kLargestGradient);
  return norm ? ok() : norm.error();
}

}  // namespace

std::string_view scoring_name(Scoring scoring) {
  return scoring == Scoring::additive ? "additive" : "dot";
}

Result<TrainRun> TrainRun::create(const TrainSettings& settings) {
  TrainModelConfig config = kModel;
  config.scoring = settings.scoring;
  auto model = TrainModel::create(config, settings.seed);
  config.uniform = true;
  auto uniform = TrainModel::create(config, settings.seed);
  if (!model || !uniform) {
    return model ? uniform.error() : model.error();
  }
  auto optimizer =
      Optimizer::create(AdamWConfig{.learning_rate = settings.learning_rate});
  HEADWISE_TRY(optimizer);
  return TrainRun(settings, *std::move(model), *std::move(uniform),
                  *std::move(optimizer));
}

// ---- Learning. ----

// One step of one model; its loss.
Result<double> TrainRun::learn(TrainModel& model, std::string_view prefix,
                               const TrainBatch& batch,
                               const Executor& executor) {
  auto gradients = model.differentiate(batch, executor);
  HEADWISE_TRY(gradients);
  HEADWISE_TRY(clip(gradients->params));
  Status updated;
  model.update([&](std::string_view name, std::span<float> values) {
    const auto gradient =
        std::ranges::find(gradients->params, name, &ParamGradient::name);
    if (updated) {
      updated = optimizer_.update(fmt::format("{}{}", prefix, name), values,
                                  gradient->values.elements());
    }
    if (updated) {
      updated = check_finite_values(name, values);
    }
  });
  HEADWISE_TRY(updated);
  return gradients->loss;
}

Status TrainRun::step(const Executor& executor) {
  const auto batch =
      make_batch(*settings_.task, settings_.seed, steps() * kBatch, kBatch);
  HEADWISE_TRY(batch);
  optimizer_.begin_step();
  const auto failed = [&](const Error& error, std::string_view model) {
    return in_step(error, steps() + 1, model);
  };
  const auto loss = learn(model_, "", *batch, executor);
  if (!loss) {
    return failed(loss.error(), "");
  }
  const auto uniform_loss = learn(uniform_, kUniform, *batch, executor);
  if (!uniform_loss) {
    return failed(uniform_loss.error(), " with uniform attention weights");
  }
  losses_.push_back(*loss);
  uniform_losses_.push_back(*uniform_loss);
  return ok();
}

// ---- Scores. ----

Result<TrainScore> TrainRun::score_of(const TrainModel& model,
                                      const Executor& executor) const {
  TrainScore score{0, 0, std::vector<double>(kModel.num_heads)};
  std::size_t asked = 0;
  std::size_t right = 0;
  for (std::size_t n = 0; n < kUnseenBatches; ++n) {
    const auto batch =
        make_batch(*settings_.task, settings_.seed,
                   kFirstUnseen + n * kUnseenBatch, kUnseenBatch);
    HEADWISE_TRY(batch);
    const auto answers = model.answer(*batch, executor);
    HEADWISE_TRY(answers);
    score.loss += answers->loss / static_cast<double>(kUnseenBatches);
    asked += answers->asked;
    right += answers->right;
    for (std::size_t h = 0; h < score.on_answer.size(); ++h) {
      score.on_answer[h] += answers->on_answer[h];
    }
  }
  for (double& share : score.on_answer) {
    share /= static_cast<double>(asked);
  }
  score.accuracy = static_cast<double>(right) / static_cast<double>(asked);
  return score;
}

Result<TrainBatch> TrainRun::unseen_sequences(std::size_t count) const {
  return make_batch(*settings_.task, settings_.seed, kFirstUnseen, count);
}

Result<TrainScore> TrainRun::score(const Executor& executor) const {
  return score_of(model_, executor);
}
Result<TrainScore> TrainRun::uniform_score(const Executor& executor) const {
  return score_of(uniform_, executor);
}

// ---- Files. ----

ModelConfig TrainRun::config() const {
  return {{"task", std::string(settings_.task->name)},
          {"embed_dim", static_cast<std::int64_t>(kModel.embed_dim)},
          {"num_heads", static_cast<std::int64_t>(kModel.num_heads)},
          {"scoring", std::string(scoring_name(settings_.scoring))},
          {"batch", static_cast<std::int64_t>(kBatch)},
          {"learning_rate", settings_.learning_rate}};
}

std::map<std::string, AnyView> TrainRun::params() const {
  std::map<std::string, AnyView> params = model_.params();
  for (const auto& [name, view] : uniform_.params()) {
    params.emplace(std::string(kUniform) + name, view);
  }
  return params;
}

Status TrainRun::write_checkpoint_to(const std::string& path) const {
  const auto state = optimizer_.state();
  HEADWISE_TRY(state);
  return write_checkpoint(
      path, {.step = steps(),
             .seed = settings_.seed,
             .config = config(),
             .params = params(),
             .optimizer = &*state,
             .records = {{std::string(kLoss), losses_},
                         {std::string(kUniformLoss), uniform_losses_}}});
}

Status TrainRun::write_params_to(const std::string& path) const {
  std::map<std::string, AnyView> params = model_.params();
  std::erase_if(params, [](const auto& param) {
    return param.first.starts_with("classifier.");
  });
  const auto num_heads = static_cast<std::int64_t>(kModel.num_heads);
  params.emplace("num_heads",
                 TensorView<const std::int64_t, 1>(&num_heads, {1}));
  return write_npz(path, params);
}

Result<TrainRun> TrainRun::resume(const TrainSettings& settings,
                                  const Checkpoint& checkpoint,
                                  const std::string& path) {
  auto run = create(settings);
  if (!run) {
    return run;
  }
  if (Status s = run->load(checkpoint, path); !s) {
    return s.error();
  }
  return run;
}

Status TrainRun::load(const Checkpoint& checkpoint, const std::string& path) {
  HEADWISE_TRY(check_resumed(checkpoint, path,
                             {.config = config(),
                              .params = params(),
                              .seed = settings_.seed,
                              .records = {kLoss, kUniformLoss}}));
  HEADWISE_TRY(optimizer_.set_state(checkpoint.optimizer));
  const auto set = [&](TrainModel& model, std::string_view prefix) {
    model.update([&](std::string_view name, std::span<float> values) {
      restore_param(checkpoint, fmt::format("{}{}", prefix, name), values);
    });
  };
  set(model_, "");
  set(uniform_, kUniform);
  losses_ = checkpoint.records.at(std::string(kLoss));
  uniform_losses_ = checkpoint.records.at(std::string(kUniformLoss));
  return ok();
}

}  // namespace headwise::cli
