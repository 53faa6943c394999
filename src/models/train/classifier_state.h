// The state of a ClassifierRun and its steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/any_view.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/tensor.h"
#include "headwise/module/optimizer.h"
#include "headwise/train/classifier_run.h"
#include "train/classifier_checkpoint.h"
#include "train/ranked_steps.h"

namespace headwise::inline HEADWISE_ABI {

class ClassifierRun::State {
 public:
  State(const ClassifierSettings& settings, SentenceEncoder encoder,
        LabelProbe probe, ClassifierExamples examples,
        std::string source_sha256, Optimizer optimizer, Communicator* group)
      : settings_(settings),
        encoder_(std::move(encoder)),
        probe_(std::move(probe)),
        examples_(std::move(examples)),
        source_sha256_(std::move(source_sha256)),
        optimizer_(std::move(optimizer)),
        group_(group) {
    if (group_ != nullptr && group_->ranks() > 1) {
      ranked_.emplace(*group_, encoder_);
    }
  }

  Status resume(const Checkpoint& checkpoint, const std::string& path);
  Status step(const Executor& executor);
  Status write_checkpoint_to(const std::string& path);

  Communicator* group() const { return group_; }

  std::uint64_t steps_per_epoch() const {
    return (examples_.ids.size() - 1) / settings_.batch + 1;
  }
  std::uint64_t total_steps() const {
    return settings_.epochs * steps_per_epoch();
  }
  const std::vector<double>& losses() const { return losses_; }
  const ClassifierSettings& settings() const { return settings_; }
  const SentenceEncoder& encoder() const { return encoder_; }
  const LabelProbe& probe() const { return probe_; }

 private:
  using Gradients = std::map<std::string, Tensor<float, 1>, std::less<>>;
  struct Batch {
    RaggedTokens ids;
    std::vector<std::int64_t> targets;
  };

  Batch batch_of(std::uint64_t step);
  Result<double> train_on(const Batch& batch, const Executor& executor);
  Result<Tensor<float, 2>> forward(const Batch& batch,
                                   const Executor& executor);
  Result<Gradients> backward(const Tensor<float, 2>& embeddings,
                             TensorView<const float, 3> d_logits,
                             const Executor& executor);
  Status clip(Gradients& gradients);
  Status move(const Gradients& gradients);
  using Change =
      FunctionRef<Status(std::string_view name, std::span<float> values)>;
  Status update(Change change);
  Status update_classifier(Change change);
  CheckpointView saved() const;
  ClassifierOrigin origin() const;

  ClassifierSettings settings_;
  SentenceEncoder encoder_;
  LabelProbe probe_;
  ClassifierExamples examples_;
  std::string source_sha256_;  // of the encoder's parameters before training
  Optimizer optimizer_;
  Communicator* group_;
  std::optional<RankedSteps> ranked_{};    // of several ranks
  std::optional<SentencesSaved> saved_{};  // of one
  std::vector<std::size_t> order_;         // of the examples in the epoch below
  std::uint64_t epoch_ = 0;
  std::vector<double> losses_;
};

}  // namespace headwise::inline HEADWISE_ABI
