// A training run on a task: a small model with one attention layer, and a twin
// with uniform attention weights, trained on the same sequences, which shows
// what the task needs attention for.
//
//   embedded  = embedding(tokens)                               (B, L, 64)
//   output    = multi_head_attention(embedded, embedded, embedded), two heads
//   logits    = classifier(output)                              (B, L, 10)
//
// In an encoder-decoder task the query is embedding(target tokens). A step
// takes 32 new sequences, clips each model's gradients to a norm of 1 and
// applies AdamW. The result depends only on the settings: not on threads, nor
// on whether the run was saved and resumed on the way.
//
// Errors: out_of_memory, and those named at each function.
//
// Example:
//   TaskRun run = TaskRun::create({.task = Task::recall}).value();
//   while (run.steps() < 400) {
//     Status s = run.step();
//   }
//   double accuracy = run.score().value().accuracy;
//   Status s = run.write_params_to("params.npz");
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/arithmetic.h"
#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/interop/checkpoint.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/executor.h"
#include "headwise/train/task.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct TaskSettings {
  Task task = Task::recall;
  Scoring scoring = Scoring::dot;
  Seed seed{};  // of parameters and sequences
  double learning_rate = 3e-3;
  // Of the attention layer. Its parameters are float32 in either.
  Arithmetic arithmetic = Arithmetic::exact;
};

// The settings of the run that wrote the checkpoint. A setting that it lacks
// keeps its default; TaskRun::resume() then reports the difference.
TaskSettings task_settings_of(const Checkpoint& checkpoint);

// "dot" or "additive", as in checkpoints.
std::string_view name_of(Scoring scoring);

// How well the model answers sequences that it was not trained on.
struct TaskScore {
  double loss = 0;  // mean cross-entropy
  double accuracy = 0;
  // For each head, the mean attention weight on the key that holds the answer.
  std::vector<double> on_answer;
};

class TaskRun {
 public:
  // Errors: invalid_argument for a learning rate that AdamW refuses.
  static Result<TaskRun> create(const TaskSettings& settings);
  TaskRun(TaskRun&& other) noexcept;
  TaskRun& operator=(TaskRun&& other) noexcept;
  ~TaskRun();

  // Continues from `checkpoint`, which was read from the file `path`. Errors:
  // bad_data for a checkpoint of other settings. After an error the run is as
  // it was created.
  Status resume(const Checkpoint& checkpoint, const std::string& path);

  // One batch for both models. Errors: those of the layers; out_of_range if a
  // number is not finite; the message has the step and the first such value.
  // After an error some parameters may have changed: start again, or resume().
  Status step(const Executor& executor = Executor::default_executor());

  // The scores of the model and of its twin.
  Result<TaskScore> score(
      const Executor& executor = Executor::default_executor()) const;
  Result<TaskScore> uniform_score(
      const Executor& executor = Executor::default_executor()) const;

  // Errors: those of write_checkpoint().
  Status write_checkpoint_to(const std::string& path) const;
  // The layer, its number of heads and its embedding, as .npz. Errors: those of
  // write_npz().
  Status write_params_to(const std::string& path) const;

  // The first `count` of the sequences on which scores are computed.
  Result<TaskBatch> unseen_sequences(std::size_t count) const;

  const TaskSettings& settings() const;
  std::uint64_t steps() const { return losses().size(); }
  // One per step.
  const std::vector<double>& losses() const;
  const std::vector<double>& uniform_losses() const;

 private:
  class State;
  explicit TaskRun(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
