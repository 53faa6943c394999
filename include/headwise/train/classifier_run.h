// A training run of a whole sentence classifier, with its encoder. A step takes
// the next examples in the epoch's order,
//
//   loss  = cross_entropy(classifier(encoder(texts)), labels)
//
// clips the gradients of all parameters to a norm of 1 and applies AdamW with a
// weight decay of 0.01. The result depends only on the model, the examples and
// the settings: not on threads, nor on whether the run was saved and resumed on
// the way.
//
// Several ranks can train one model together: each has the texts, the model and
// the same settings, and makes the same calls. They divide the examples of each
// batch and the parameters, and the result is that of one process.
//
// Errors: out_of_memory, and those named at each function.
//
// Example:
//   LabelledText text = read_labelled_text("train.tsv").value();
//   SentenceClassifier model = SentenceClassifier::read("minilm").value();
//   LabelProbe probe = train_probe(model.encoder, text).value();
//   auto examples = ClassifierExamples::of(text, model.encoder, probe).value();
//   ClassifierRun run = ClassifierRun::create({}, std::move(model.encoder),
//                                             std::move(probe),
//                                             std::move(examples)).value();
//   while (run.steps() < run.total_steps()) {
//     Status s = run.step();
//   }
//   Status s = write_model("minilm", "trained", run.changes());
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "headwise/base/arithmetic.h"
#include "headwise/base/hidden.h"
#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/interop/checkpoint.h"
#include "headwise/models/label_probe.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/models/write_model.h"
#include "headwise/run/executor.h"
#include "headwise/steps/tokens.h"
#include "headwise/train/labelled_text.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct ClassifierSettings {
  Seed seed{};             // of the order of the examples
  std::size_t batch = 16;  // examples per step
  std::size_t epochs = 3;
  double learning_rate = 2e-5;
  // Of a text; 0: the model's limit. Only recorded in checkpoints: the examples
  // of a run are already cut.
  std::size_t max_tokens = 0;
  // Must be that of the encoder. The classifier is exact in either.
  Arithmetic arithmetic = Arithmetic::exact;
};

// The settings of the run that wrote the checkpoint. A setting that it lacks
// keeps its default; ClassifierRun::resume() then reports the difference.
ClassifierSettings classifier_settings_of(const Checkpoint& checkpoint);

struct ClassifierExamples {
  RaggedTokens ids;
  std::vector<std::int64_t> targets;  // indices of labels, one per text
  std::string sha256;                 // of the data they come from
  std::size_t cut = 0;                // number of texts over max_tokens

  // Errors: those of SentenceEncoder::tokenize() and targets_of().
  static Result<ClassifierExamples> of(const LabelledText& text,
                                       const SentenceEncoder& encoder,
                                       const LabelProbe& probe,
                                       const SentenceOptions& options = {});
};

class ClassifierRun {
 public:
  // From an encoder that was read for training and a classifier of its
  // embeddings. Errors: invalid_argument if there are no examples or not one
  // target per text, for a batch of 0, for another arithmetic than the
  // encoder's, and for a learning rate that AdamW refuses. `group`: the ranks
  // that train together, which outlives the run; null: this process alone.
  // Errors with several ranks: also invalid_argument if they were given
  // different runs; rank_failure.
  static Result<ClassifierRun> create(const ClassifierSettings& settings,
                                      SentenceEncoder encoder, LabelProbe probe,
                                      ClassifierExamples examples,
                                      Communicator* group = nullptr);

  // Continues from `checkpoint`, which was read from the file `path`. The run
  // may have more epochs than the one that wrote it. Errors: bad_data for a
  // checkpoint of another model, other data or settings; invalid_argument for
  // one with more steps than this run, and if ranks were given different
  // checkpoints; rank_failure.
  Status resume(const Checkpoint& checkpoint, const std::string& path);

  // One batch. Errors: those of the encoder; out_of_range if a number is not
  // finite; the message has the step and the first such value; rank_failure.
  Status step(const Executor& executor = Executor::default_executor());

  // With several ranks, all call this and rank 0 writes. Errors: those of
  // write_checkpoint(); rank_failure.
  Status write_checkpoint_to(const std::string& path) const;
  // For write_model(); valid until the next step. With several ranks, the note
  // at encoder() applies.
  ModelChanges changes() const;

  std::uint64_t steps() const { return losses().size(); }
  std::uint64_t total_steps() const;
  // One per step.
  const std::vector<double>& losses() const;
  // The mean loss of each epoch's steps.
  std::vector<double> epoch_losses() const;
  const ClassifierSettings& settings() const;
  // With several ranks, the word embeddings are complete only after the last
  // step and after write_checkpoint_to().
  const SentenceEncoder& encoder() const;
  const LabelProbe& probe() const;

 private:
  class HEADWISE_HIDDEN State;
  explicit ClassifierRun(Hidden<State> state) : state_(std::move(state)) {}

  Hidden<State> state_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
