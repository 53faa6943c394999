// A training run: a model, its twin with uniform attention weights, which
// learns from the same sequences, their optimiser and their losses so far. What
// it comes to depends on the settings alone: neither on threads, nor on whether
// it was saved and loaded on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/interop/checkpoint.h"
#include "headwise/module/optimizer.h"
#include "headwise/run/executor.h"
#include "train_curve.h"
#include "train_model.h"
#include "train_task.h"

namespace headwise::cli {

// As --scoring and a checkpoint name it.
std::string_view scoring_name(Scoring scoring);

struct TrainSettings {
  const TrainTask* task = nullptr;
  Scoring scoring = Scoring::dot;
  Seed seed{};
  double learning_rate = 3e-3;
};

// How sequences were answered that no step has seen.
struct TrainScore {
  double loss = 0;
  double accuracy = 0;
  // The mean attention weight on the key that holds the answer, by head.
  std::vector<double> on_answer;
};

class TrainRun {
 public:
  static Result<TrainRun> create(const TrainSettings& settings);
  // Goes on where the checkpoint of the file `path` was written. Errors:
  // bad_data for a checkpoint of other settings.
  static Result<TrainRun> resume(const TrainSettings& settings,
                                 const Checkpoint& checkpoint,
                                 const std::string& path);

  // One batch for both models. Errors: those of the layers; out_of_range, with
  // the step, when a number is not finite: what was the first.
  Status step(const Executor& executor);
  // Errors: those of the layers.
  Result<TrainScore> score(const Executor& executor) const;
  Result<TrainScore> uniform_score(const Executor& executor) const;

  // Errors: those of write_checkpoint() and write_npz().
  Status write_checkpoint_to(const std::string& path) const;
  // The layer, its number of heads and its embedding, as `headwise explain`
  // reads them.
  Status write_params_to(const std::string& path) const;

  // The first of those that scores are taken on. Errors: out_of_memory.
  Result<TrainBatch> unseen_sequences(std::size_t count) const;

  const TrainTask& task() const { return *settings_.task; }
  Scoring scoring() const { return settings_.scoring; }
  std::uint64_t steps() const { return losses_.size(); }
  TrainCurve curve() const {
    return {settings_.task->name, losses_, uniform_losses_};
  }

 private:
  TrainRun(const TrainSettings& settings, TrainModel model, TrainModel uniform,
           Optimizer optimizer)
      : settings_(settings),
        model_(std::move(model)),
        uniform_(std::move(uniform)),
        optimizer_(std::move(optimizer)) {}

  ModelConfig config() const;
  std::map<std::string, AnyView> params() const;
  Status load(const Checkpoint& checkpoint, const std::string& path);
  Result<double> learn(TrainModel& model, std::string_view prefix,
                       const TrainBatch& batch, const Executor& executor);
  Result<TrainScore> score_of(const TrainModel& model,
                              const Executor& executor) const;

  TrainSettings settings_;
  TrainModel model_;
  TrainModel uniform_;
  Optimizer optimizer_;
  std::vector<double> losses_;
  std::vector<double> uniform_losses_;
};

}  // namespace headwise::cli
