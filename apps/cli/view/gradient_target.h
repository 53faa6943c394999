// The model of --attribution gradient and the like, read for training, and what
// its gradients are of.
#pragma once

#include <memory>
#include <vector>

#include "attribution.h"
#include "attribution_flags.h"
#include "headwise/base/result.h"
#include "headwise/heads/attribution_target.h"
#include "headwise/models/language_model.h"
#include "headwise/run/executor.h"
#include "headwise/train/sentence_classifier.h"
#include "viewed_heads.h"

namespace headwise::cli {

class GradientTarget {
 public:
  // Errors: those of the model, and bad_data where its outputs are NaN or
  // infinite; invalid_argument for a pair of sentences, and for a label, a
  // token or a position that does not exist.
  static Result<GradientTarget> read(const AttributionFlags& flags,
                                     const ViewedHeads& heads);

  const AttributionTarget& target() const { return *target_; }
  const std::vector<TokenId>& ids() const { return ids_; }
  const GradientOf& of() const { return of_; }

 private:
  GradientTarget() = default;
  Status read_sentences(const AttributionFlags& flags, const ViewedText& text,
                        const Executor& executor);
  Status read_language(const AttributionFlags& flags, const ViewedText& text,
                       const Executor& executor);

  // Only one of them. In memory of their own: the target refers to them.
  std::unique_ptr<SentenceClassifier> sentences_;
  std::unique_ptr<LanguageModel> language_;
  std::unique_ptr<AttributionTarget> target_;
  std::vector<TokenId> ids_;
  GradientOf of_;
};

}  // namespace headwise::cli
