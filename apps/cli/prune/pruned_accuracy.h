// How well a model without some of its heads finds labels: of each number of
// heads, in the order in which they would go, evaluated once.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/prune/remove_heads.h"
#include "journal.h"
#include "train/learned_model.h"

namespace headwise::cli {

class PrunedAccuracy {
 public:
  // `model` is the whole one's folder; what is given must outlive this.
  PrunedAccuracy(const std::string& model, const LabelProbe& probe,
                 const LabelledText& text, const TextOptions& options,
                 ConstantPart constant)
      : folder_(model),
        probe_(probe),
        text_(text),
        options_(options),
        constant_(constant) {}

  // Of the model without the first `count` of `order`. What the journal has of
  // it, under `name`, is not computed again. Errors: those of reading and
  // scoring.
  Result<Answers> without(const std::vector<HeadId>& order, std::size_t count,
                          const std::string& name, Journal& journal);

 private:
  Result<Answers> compute(const std::vector<HeadId>& order, std::size_t count);

  const std::string& folder_;
  const LabelProbe& probe_;
  const LabelledText& text_;
  TextOptions options_;
  ConstantPart constant_;
  // The model that was pruned last, and how: more heads of the same order can
  // go from it.
  std::optional<LearnedModel> model_;
  std::vector<HeadId> gone_;
  std::map<std::string, std::string> done_;  // "110..", a digit a text
};

}  // namespace headwise::cli
