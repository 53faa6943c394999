// What `headwise prune` is given, read and checked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/run/executor.h"
#include "importance_file.h"
#include "journal.h"
#include "prune_flags.h"
#include "pruned_accuracy.h"
#include "train/labelled_text.h"
#include "train/learned_model.h"

namespace headwise::cli {

class PruneJob {
 public:
  // Errors: those of reading the model, the scores and the data;
  // invalid_argument for options that do not go together.
  static Result<PruneJob> create(const PruneFlags& flags,
                                 const Executor& executor);

  const LearnedModel& model() const { return model_; }
  const ImportanceFile& scores() const { return scores_; }
  const std::optional<LabelledText>& text() const { return text_; }
  const Executor& executor() const { return *executor_; }
  TextOptions text_options() const;
  ConstantPart constant() const;
  // Why no accuracy can be measured; empty: it can.
  std::string why_no_accuracy() const;
  // Tells this job's journal from any other's.
  Journal journal(const std::string& output) const;
  // Errors: those of scoring.
  PrunedAccuracy accuracy() const;

  const PruneFlags& flags() const { return flags_; }

 private:
  PruneJob(const PruneFlags& flags, const Executor& executor,
           LearnedModel model, ImportanceFile scores,
           std::optional<LabelledText> text)
      : flags_(flags),
        executor_(&executor),
        model_(std::move(model)),
        scores_(std::move(scores)),
        text_(std::move(text)) {}

  PruneFlags flags_;
  const Executor* executor_;
  LearnedModel model_;
  ImportanceFile scores_;
  std::optional<LabelledText> text_;
  std::string digest_{};  // of all that is read of the model
};

}  // namespace headwise::cli
