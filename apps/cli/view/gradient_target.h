// The model of --attribution gradient and the like, read for training, and what
// its gradients are of.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attribution_flags.h"
#include "headwise/base/result.h"
#include "headwise/heads/embedding_target.h"
#include "headwise/train/sentence_classifier.h"
#include "viewed_heads.h"

namespace headwise::cli {

class GradientTarget {
 public:
  // Errors: those of the model; invalid_argument for a causal model and
  // for a label that the classifier does not have.
  static Result<GradientTarget> read(const AttributionFlags& flags,
                                     const ViewedHeads& heads);

  const EmbeddingTarget& target() const { return target_; }
  const std::vector<TokenId>& ids() const { return ids_; }
  // Not given: the length of the embedding.
  std::optional<std::string> label() const;
  Result<double> value(const Executor& executor) const {
    return target_.value(ids_, {}, executor);
  }
  std::vector<std::size_t> heads_in(std::size_t layer) const;

 private:
  GradientTarget(std::unique_ptr<SentenceClassifier> model,
                 EmbeddingTarget target, std::vector<TokenId> ids)
      : model_(std::move(model)),
        target_(std::move(target)),
        ids_(std::move(ids)) {}

  std::unique_ptr<SentenceClassifier> model_;
  EmbeddingTarget target_;  // refers to *model_
  std::vector<TokenId> ids_;
};

}  // namespace headwise::cli
