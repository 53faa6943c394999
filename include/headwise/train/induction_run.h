// A training run of a small causal model on texts whose words come twice: two
// layers of attention alone, four heads each, 64 features. A step takes 32 new
// texts, clips the gradients to a norm of 1 and applies AdamW. The loss is that
// of the words that can be known, the second half. The result depends only on
// the settings: not on threads, nor on whether the run was saved and resumed on
// the way.
//
// The heads of the last layer begin at different sizes: the parameters of head
// h are 0.2^h of those that were drawn. Equal heads would all learn the same;
// so the largest learns first and leaves little for the others.
//
// Errors: out_of_memory, and those named at each function.
//
// Source: Olsson et al. 2022, arXiv:2209.11895.
//
// Example:
//   InductionRun run = InductionRun::create({}).value();
//   while (run.steps() < kInductionSteps) {
//     Status s = run.step();
//   }
//   Status s = run.write_model("model");
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/arithmetic.h"
#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/interop/checkpoint.h"
#include "headwise/module/optimizer.h"
#include "headwise/run/executor.h"
#include "headwise/steps/tokens.h"
#include "headwise/transformer/transformer.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// By then the induction heads are there.
inline constexpr std::size_t kInductionSteps = 1200;
// The name of the task, as in checkpoints.
inline constexpr std::string_view kInductionTask = "induction";

struct InductionSettings {
  Seed seed{};  // of parameters and texts
  double learning_rate = 3e-3;
  // Of the attention layers. Their parameters are float32 in either.
  Arithmetic arithmetic = Arithmetic::exact;
};

// The settings of the run that wrote the checkpoint; what it lacks keeps its
// default, and resume() then reports the difference.
InductionSettings induction_settings_of(const Checkpoint& checkpoint);

class InductionRun {
 public:
  // Errors: invalid_argument for a learning rate that AdamW refuses.
  static Result<InductionRun> create(const InductionSettings& settings);

  // Continues from `checkpoint`, which was read from the file `path`. Errors:
  // bad_data for a checkpoint of another run. After an error the run is as it
  // was created.
  Status resume(const Checkpoint& checkpoint, const std::string& path);

  // One batch. Errors: out_of_range if a number is not finite; the message has
  // the step and the first such value. After an error some parameters may have
  // changed: start again, or resume().
  Status step(const Executor& executor = Executor::default_executor());

  // Errors: those of write_checkpoint().
  Status write_checkpoint_to(const std::string& path) const;
  // The model's folder: config.json, tokenizer.json, model.safetensors. It is
  // written next to the one in its place and replaces that in one step: a
  // failure or a kill leaves the old model or the new one. `keep`: names of
  // files of the old folder to keep, such as the run's checkpoint.npz. A folder
  // with any other files or folders keeps them: the new files take the places
  // of the old ones, config.json last, and a failure puts those back. Errors:
  // io_error; invalid_argument for a path in `keep`; out_of_memory.
  Status write_model(const std::string& folder,
                     std::span<const std::string> keep = {}) const;

  // The first `count` of the texts that no step trains on.
  Result<RaggedTokens> unseen_texts(std::size_t count) const;

  const Transformer& model() const { return model_; }
  const InductionSettings& settings() const { return settings_; }
  std::uint64_t steps() const { return losses_.size(); }
  const std::vector<double>& losses() const { return losses_; }  // one per step

 private:
  HEADWISE_HIDDEN InductionRun(const InductionSettings& settings,
                               Transformer model, Optimizer optimizer);

  HEADWISE_HIDDEN CheckpointView saved() const;
  HEADWISE_HIDDEN Result<double> take_step(const Executor& executor);

  InductionSettings settings_;
  Transformer model_;
  Optimizer optimizer_;
  std::vector<double> losses_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
