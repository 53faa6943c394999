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

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/arithmetic.h"
#include "headwise/base/hidden.h"
#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/interop/checkpoint.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/executor.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Tasks that only attention can solve: generated sequences of tokens with
// questions about them. There are ten keys (or places) and ten values (or
// symbols):
//
//   recall    tokens         8 pairs 10 * key + value, each key once, then 4
//                            questions 100 + key
//             answer         the value of the question's key
//             attends to     the pair with that key (self-attention)
//   reverse   tokens         10 * place + symbol at places 0 to 9
//             target tokens  100 + i, the place of the output: 0 to 9
//             answer         the symbol at place 9 - i
//             attends to     place 9 - i of the source (encoder-decoder)
//
// A token of a sequence contains its key or its place, since attention alone is
// blind to order. The mean of all tokens shows which values there are, but not
// which one is asked for.
//
// Example:
//   TaskBatch batch = make_task_batch(Task::recall, Seed{7}, 0, 32).value();
//   batch.queries();  // (32, 12)

enum class Task { recall, reverse };

inline constexpr std::array kTasks = {Task::recall, Task::reverse};
constexpr std::string_view name_of(Task task) {
  return task == Task::recall ? "recall" : "reverse";
}
constexpr std::optional<Task> task_named(std::string_view name) {
  const auto found =
      std::ranges::find(kTasks, name, [](Task task) { return name_of(task); });
  return found == kTasks.end() ? std::optional<Task>() : *found;
}

struct TaskShape {
  std::size_t key_length = 0;    // Lkv
  std::size_t query_length = 0;  // Lq
  bool cross = false;            // encoder-decoder: target tokens are queries
};
TaskShape shape_of(Task task);

// The sizes of all tasks.
inline constexpr std::size_t kTaskVocabSize = 110;
inline constexpr std::size_t kTaskClasses = 10;

struct TaskBatch {
  Tensor<TokenId, 2> tokens;         // (B, Lkv)
  Tensor<TokenId, 2> target_tokens;  // (B, Lq); empty in self-attention
  // (B * Lq): the class, or kIgnoredTarget if nothing is asked here.
  Tensor<std::int64_t, 1> answers;
  Tensor<std::int64_t, 1> places;  // (B * Lq): the key that holds the answer

  TensorView<const TokenId, 2> queries() const {
    return target_tokens.size() != 0 ? target_tokens.view() : tokens.view();
  }
};

// `count` sequences of this seed, from number `first` on. Each depends only on
// the seed and on its number. Errors: out_of_memory.
Result<TaskBatch> make_task_batch(Task task, Seed seed, std::uint64_t first,
                                  std::size_t count);

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
constexpr std::string_view name_of(Scoring scoring) {
  return scoring == Scoring::additive ? "additive" : "dot";
}

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
  class HEADWISE_HIDDEN State;
  explicit TaskRun(Hidden<State> state) : state_(std::move(state)) {}

  Hidden<State> state_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
