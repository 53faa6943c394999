// A training run of a whole model: its encoder and its classifier, their
// optimiser and the losses so far. A step takes the next examples of an epoch's
// order,
//
//   loss  = cross_entropy(classifier(encoder(texts)), labels)
//
// clips the gradients of all parameters to a norm of 1 and moves them by AdamW.
// What it comes to depends on the model, the examples and the settings alone:
// neither on threads, nor on whether it was saved and loaded on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/any_view.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/interop/checkpoint.h"
#include "headwise/models/label_probe.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/module/optimizer.h"
#include "headwise/run/executor.h"
#include "tune_settings.h"

namespace headwise::cli {

struct TuneExamples {
  RaggedTokens ids;
  std::vector<std::int64_t> targets;  // of each a number of a label
  std::string sha256;                 // of what they were read from
};

class TuneRun {
 public:
  // From an encoder read for training and a classifier of its embeddings.
  // Errors: those of Optimizer::create().
  static Result<TuneRun> create(const TuneSettings& settings,
                                SentenceEncoder encoder, LabelProbe probe,
                                TuneExamples examples);

  // Goes on where the checkpoint of the file `path` was written. Errors:
  // bad_data for a checkpoint of another model, other data or settings;
  // invalid_argument for one with more steps than the epochs have. More epochs
  // than were asked for then are no other setting.
  Status resume(const Checkpoint& checkpoint, const std::string& path);

  // One batch. Errors: those of the encoder; out_of_range, with the step, when
  // a number is not finite: what was the first.
  Status step(const Executor& executor);

  // Errors: those of write_checkpoint().
  Status write_checkpoint_to(const std::string& path) const;

  std::uint64_t steps() const { return losses_.size(); }
  std::uint64_t total_steps() const {
    return settings_.epochs * steps_an_epoch();
  }
  const std::vector<double>& losses() const { return losses_; }
  // The mean over each epoch's steps.
  std::vector<double> epoch_losses() const;
  const TuneSettings& settings() const { return settings_; }
  const SentenceEncoder& encoder() const { return encoder_; }
  const LabelProbe& probe() const { return probe_; }

 private:
  using Gradients = std::map<std::string, Tensor<float, 1>, std::less<>>;
  struct Batch {
    RaggedTokens ids;
    std::vector<std::int64_t> targets;
  };

  TuneRun(const TuneSettings& settings, SentenceEncoder encoder,
          LabelProbe probe, TuneExamples examples, Optimizer optimizer);

  std::uint64_t steps_an_epoch() const;
  Batch next_batch();
  Result<double> learn(const Batch& batch, const Executor& executor);
  Result<Gradients> gradients_of(SentencesSaved& saved,
                                 TensorView<const float, 3> d_logits,
                                 const Executor& executor) const;
  Status move(const Gradients& gradients);
  Status update(
      FunctionRef<Status(std::string_view name, std::span<float> values)>
          change);
  std::map<std::string, AnyView> params() const;
  ModelConfig config() const;

  TuneSettings settings_;
  SentenceEncoder encoder_;
  LabelProbe probe_;
  TuneExamples examples_;
  std::string source_sha256_;  // of the encoder's parameters at first
  Optimizer optimizer_;
  std::vector<std::size_t> order_;  // of the examples in this epoch
  std::vector<double> losses_;
};

}  // namespace headwise::cli
