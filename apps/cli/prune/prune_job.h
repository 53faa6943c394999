// What `headwise prune` is given, read and checked.
#pragma once

#include <optional>
#include <string>

#include "headwise/base/result.h"
#include "headwise/interop/journal.h"
#include "headwise/prune/importance.h"
#include "headwise/prune/pruned_accuracy.h"
#include "headwise/run/executor.h"
#include "headwise/run/reports.h"
#include "headwise/train/labelled_text.h"
#include "headwise/train/sentence_classifier.h"
#include "prune_flags.h"

namespace headwise::cli {

// Errors: invalid_argument for options that do not go together.
Status check_prune_options(const PruneFlags& flags);

class PruneJob {
 public:
  // Errors: those of reading the model, the scores and the data;
  // invalid_argument for options that do not go together.
  static Result<PruneJob> create(const PruneFlags& flags,
                                 const Executor& executor);

  const SentenceClassifier& model() const { return model_; }
  const ImportanceFile& scores() const { return scores_; }
  const std::optional<LabelledText>& text() const { return text_; }
  const Executor& executor() const { return *executor_; }
  SentenceOptions text_options(Progress progress = {}) const;
  ConstantPart constant() const;
  // Why no accuracy can be measured; nothing: it can.
  std::optional<Error> why_no_accuracy() const;
  // The journal of this job's output.
  Journal journal(const std::string& output) const;
  // Errors: those of scoring.
  PrunedAccuracy accuracy() const;

  const PruneFlags& flags() const { return flags_; }

 private:
  PruneJob(const PruneFlags& flags, const Executor& executor,
           SentenceClassifier model, ImportanceFile scores,
           std::optional<LabelledText> text)
      : flags_(flags),
        executor_(&executor),
        model_(std::move(model)),
        scores_(std::move(scores)),
        text_(std::move(text)) {}

  PruneFlags flags_;
  const Executor* executor_;
  SentenceClassifier model_;
  ImportanceFile scores_;
  std::optional<LabelledText> text_;
  std::string digest_{};  // of the model's folder
};

}  // namespace headwise::cli
