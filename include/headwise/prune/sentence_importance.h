// The importance of the heads of a model folder, measured on labelled or
// unlabelled texts. With labels the loss is that of the folder's classifier, or
// of one trained on the texts; without, that of the next tokens in a language
// model (language_losses()), or how far each embedding moves
// (embedding_losses()).
//
// A run proceeds in steps of one batch of examples. With a journal it can be
// interrupted and resumed with the same bits. Several ranks may divide the
// examples of each batch (share_examples()): they make the same calls with the
// same arguments, and the journal is that of rank 0. The number of ranks
// changes no bit, and a run may be resumed on another number of them.
//
// Errors: those of SentenceClassifier::read(), train_probe(), targets_of(),
// SentenceEncoder::tokenize() and ImportanceRun; out_of_memory. With a group,
// all ranks agree on errors; also rank_failure, and invalid_argument where the
// ranks have other models or texts.
//
// Example:
//   LabelledText text = read_labelled_text("train.tsv").value();
//   auto run = SentenceImportance::create("topics", text, {}).value();
//   while (run.done() < run.steps()) {
//     Status s = run.step();
//   }
//   Status s = write_importance("scores.json", run.result());
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "headwise/base/hidden.h"
#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/interop/journal.h"
#include "headwise/models/label_probe.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/prune/importance.h"
#include "headwise/run/executor.h"
#include "headwise/run/reports.h"
#include "headwise/train/labelled_text.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct SentenceImportanceOptions {
  ImportanceOptions importance{};
  std::size_t examples = 0;    // texts to score on, evenly spread; 0: all
  std::size_t max_tokens = 0;  // of a text; 0: the model's
  Progress probe_progress{};   // counts texts while a classifier is trained
  const Executor* executor = nullptr;  // null: Executor::default_executor()
  Communicator* group = nullptr;       // null: alone
};

class SentenceImportance {
 public:
  // The executor and the group must outlive this object.
  static Result<SentenceImportance> create(
      const std::string& folder, const LabelledText& text,
      const SentenceImportanceOptions& options);

  std::size_t steps() const;
  std::size_t done() const;
  Status step();
  // Only after the last step.
  ImportanceFile result() const;

  // The journal for this run, next to its output file.
  Journal journal(const std::string& output) const;
  // Continues from the journal, if it has a state of this run. Errors:
  // out_of_memory; rank_failure.
  Status resume(const Journal& journal);
  // Does nothing on another rank than 0. Errors: io_error.
  Status keep_in(Journal& journal) const;

 private:
  class HEADWISE_HIDDEN State;
  explicit SentenceImportance(Hidden<State> state) : state_(std::move(state)) {}

  Hidden<State> state_;
};

// Sentence models as importance sees them. The arguments must outlive the
// returned model.
//
// Errors of its functions: invalid_argument for a sentence without a token,
// shape_mismatch if there is not one target per sentence; those of
// cross_entropy() and of SentenceEncoder::forward_for_backward().
//
// Example:
//   GatedModel model = classification_losses(encoder, probe, ids, targets);
//   auto run = ImportanceRun::create(std::move(model), {}).value();

// The cross-entropy of the probe for each sentence's label. Gradients need an
// encoder that was read for training.
GatedModel classification_losses(
    const SentenceEncoder& encoder, const LabelProbe& probe,
    const RaggedTokens& ids, const std::vector<std::int64_t>& targets,
    const Executor& executor = Executor::default_executor());

// Without labels: how far each sentence's embedding e is from the one with all
// heads, e_0. `losses` are |e - e_0|^2. Their gradient is 0 while all heads are
// on, so `gradients` are those of r . e with a random direction r for each
// sentence: over many sentences, the mean square is that of |de/dg|^2 up to a
// factor that is the same for all heads.
GatedModel embedding_losses(
    const SentenceEncoder& encoder, const RaggedTokens& ids, Seed seed = {},
    const Executor& executor = Executor::default_executor());

// Of a language model: the cross-entropy of each text's next tokens, their
// mean; 0 for a text of fewer than two tokens. Gradients need a model that was
// read for training. Errors: also those of Transformer::logits().
GatedModel language_losses(
    const SentenceEncoder& model, const RaggedTokens& ids,
    const Executor& executor = Executor::default_executor());

// A model whose examples are divided among the ranks of a group.
//
// Each function of the model computes the r-th part of its examples on rank r,
// and every rank gets the values of all of them. So an ImportanceRun with this
// model adds the same numbers in the same order on every rank, and has the bits
// of one process.
//
// Errors of its functions: those of the model, which all ranks agree on;
// rank_failure.
//
// Example:
//   GatedModel model = share_examples(
//       classification_losses(encoder, probe, ids, targets), *group).value();
//   auto run = ImportanceRun::create(std::move(model), {}).value();

// All ranks make the same calls of a model that is the same everywhere. The
// group must outlive the result. Errors: out_of_memory.
Result<GatedModel> share_examples(GatedModel model, Communicator& group);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
