// `headwise stats --against` and `headwise view --against`: what the heads of
// two models do differently on the same texts; `headwise view --ablate`: those
// of a model with and without some.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/heads/model_comparison.h"
#include "headwise/models/text_model.h"
#include "shell/outcome.h"
#include "viewed_flags.h"

namespace headwise::cli {

struct SimilarHead {
  HeadId head;
  double similarity;
};

// A head of --model next to one of --against.
struct ComparedHead {
  HeadPair pair;
  // What its attention maps are most like: one to one, and of all heads.
  std::optional<SimilarHead> match{};
  std::optional<SimilarHead> nearest{};
};

struct TwoModels {
  std::string model;
  std::string against;
  bool matched = false;
  std::size_t texts = 0;
  std::size_t empty = 0;  // lines that were left out
  std::size_t cut = 0;    // texts
  std::size_t max_tokens = 0;
  std::size_t same_tokens = 0;  // texts
  // Line of the first text with different tokens, from 1.
  std::optional<std::size_t> first_different{};
  std::vector<ComparedHead> heads{};
  std::vector<HeadId> only_model{};  // heads that are compared with none
  std::vector<HeadId> only_against{};
};

// Errors: usage, for options that do not go with --against.
Status check_against_flags(const ViewedFlags& seen);

// The heads that changed most come first: those with the least similar maps,
// or, if `sort` names a statistic, with the largest difference of it. Errors:
// those of the files, models and texts.
Result<TwoModels> compare_two_models(const ViewedFlags& seen,
                                     const std::string& sort);
// Of models and texts that were read: --model and --against or, without that,
// --model and the same without the heads of --ablate.
Result<TwoModels> compare_two_models(const ViewedFlags& seen,
                                     const TextModel& a, const TextModel& b,
                                     std::span<const std::string_view> texts);

// "The models divide 1 text into different tokens ...", with the line of the
// first where that is known. Empty for none.
std::string different_tokens_text(std::size_t texts,
                                  std::optional<std::size_t> first = {});

// "heads only in tuned: 1.0, 1.2", for each model that has such heads.
std::string only_text(const TwoModels& models);

// Table, CSV and JSON.
std::string against_text(const TwoModels& models);
std::string against_csv(const TwoModels& models);
std::string against_json(const TwoModels& models);

}  // namespace headwise::cli
