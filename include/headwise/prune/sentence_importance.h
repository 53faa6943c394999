// The importance of the heads of a model folder, measured on labelled or
// unlabelled texts. With labels the loss is that of the folder's classifier, or
// of one trained on the texts; without, how far each embedding moves
// (sentence_losses.h).
//
// A run proceeds in steps of one batch of examples. With a journal it can be
// interrupted and resumed with the same bits. Several ranks may divide the
// examples of each batch (share_examples.h): they make the same calls with the
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
#include <memory>
#include <string>

#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/interop/journal.h"
#include "headwise/prune/importance.h"
#include "headwise/prune/importance_file.h"
#include "headwise/run/executor.h"
#include "headwise/run/progress.h"
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
  SentenceImportance(SentenceImportance&& other) noexcept;
  SentenceImportance& operator=(SentenceImportance&& other) noexcept;
  ~SentenceImportance();

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
  class State;
  explicit SentenceImportance(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
