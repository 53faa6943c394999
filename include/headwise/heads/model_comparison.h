// What the heads of two models do differently on the same texts: what training,
// pruning or conversion changed.
//
// For each pair of heads, one of model a and one of model b:
//
//   similarity    the overlap of their attention maps w: the sum over j of
//                 min(w_a[i,j], w_b[i,j]), a mean over queries i and over texts
//   differences   of each statistic (attention/statistics.h), a minus b, a mean
//                 over texts
//
// A text counts once, however long it is. Maps can be compared where both
// models see the same tokens; a text that they divide into different tokens
// counts in the differences only.
//
// The memory besides the models is O(heads_a heads_b + texts (heads_a +
// heads_b)) and that of the texts in work. The bits do not depend on the
// threads.
//
// Example:
//   auto changes = ModelComparison::of(*tuned, *base, texts).value();
//   auto others = changes.others(HeadPairing::place);
//   for (std::size_t a = 0; a < others.size(); ++a) {
//     if (others[a]) changes.pair(a, *others[a]).similarity.mean;
//   }
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/attention/statistics_options.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/heads/mean_interval.h"
#include "headwise/models/text_model.h"
#include "headwise/module/head_hooks.h"
#include "headwise/run/executor.h"
#include "headwise/run/reports.h"
#include "headwise/steps/head_gates.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct ModelComparisonOptions {
  // The number of tokens used of a text; not given: as many as both models use
  // by default.
  std::optional<std::size_t> max_tokens{};
  // Gates of b by layer, (heads of the layer); empty: all 1. With b the same
  // model as a: what changes without the heads whose gate is 0.
  HeadGateSpan head_gates_b{};
  Progress progress{};                 // counts texts
  const Executor* executor = nullptr;  // null: Executor::default_executor()
};

// Which head of b a head of a is compared with.
enum class HeadPairing {
  place,  // the one of the same layer and number
  // Its partner: one to one, over all heads of all layers, with the largest sum
  // of similarities. None for heads that are left over.
  match,
};

struct HeadPair {
  HeadId a;
  HeadId b;
  MeanInterval similarity;  // without a text if no text has the same tokens
  // By Statistic: the means of both over all texts, and a minus b. A text whose
  // heads cannot have a share counts in none (inspect/weights_statistics.h).
  std::array<double, kStatistics> mean_a;
  std::array<double, kStatistics> mean_b;
  std::array<MeanInterval, kStatistics> difference;
};

class ModelComparison {
 public:
  // Errors: invalid_argument for max_tokens beyond the positions of a model;
  // bad_data for a text that is not UTF-8 and for a head that is NaN; those of
  // TextModel::run() and attention_statistics(); out_of_memory.
  static Result<ModelComparison> of(const TextModel& a, const TextModel& b,
                                    std::span<const std::string_view> texts,
                                    const ModelComparisonOptions& options = {});

  // The heads that are left of each, layer by layer.
  const std::vector<HeadId>& heads_a() const { return a_.heads; }
  const std::vector<HeadId>& heads_b() const { return b_.heads; }
  std::size_t texts() const { return texts_; }
  // The texts that are the same tokens in both models.
  std::size_t same_tokens() const { return same_tokens_; }
  // The first text with different tokens.
  std::optional<std::size_t> first_different() const { return different_; }
  // The texts of which one of the models left out tokens.
  std::size_t cut_texts() const { return cut_; }

  // For each head of a, the index of a head of b. HeadPairing::match pairs none
  // if same_tokens() is 0.
  std::vector<std::optional<std::size_t>> others(HeadPairing pairing) const;
  // The heads of b that are most similar to each head of a.
  const std::vector<std::optional<std::size_t>>& nearest() const {
    return nearest_;
  }
  // Of heads_a()[a] and heads_b()[b].
  MeanInterval similarity(std::size_t a, std::size_t b) const;
  HeadPair pair(std::size_t a, std::size_t b) const;

 private:
  class Texts;
  struct Model {
    std::vector<HeadId> heads;
    Tensor<float, 3> statistics{};  // (texts, heads, kStatistics); NaN: none
  };

  Model a_;
  Model b_;
  std::size_t texts_ = 0;
  std::size_t same_tokens_ = 0;
  std::optional<std::size_t> different_;
  std::size_t cut_ = 0;
  // (heads of a, heads of b): mean, and sum of squared deviations from it.
  Tensor<double, 2> similarity_;
  Tensor<double, 2> squares_;
  std::vector<std::optional<std::size_t>> partners_;
  std::vector<std::optional<std::size_t>> nearest_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
