// How much each head of a model matters, and in which order heads could be
// removed.
//
//   gradient    mean_x |dL_x/dg_h|, divided by the Euclidean norm over the
//               heads of its layer (Michel et al. 2019, section 4.1)
//   fisher      mean_x (dL_x/dg_h)^2 (Kwon et al. 2022, equation 8)
//   ablation    mean_x L_x without head h, minus mean_x L_x: exact
//   entropy     minus the mean entropy of its attention weights, in nats
//   confidence  the mean of a query's largest attention weight (Voita et al.
//               2019, section 4)
//   random      random numbers: the baseline
//
// L_x is the loss of example x and g_h the gate of head h (steps/head_gates.h),
// which is 1. A head with a larger score matters more.
//
// In one shot, the heads are ordered by their scores. An iterative run turns
// off the heads with the lowest scores, a share of all heads in each round, and
// scores the rest again without them, until none is left.
//
// A run proceeds in steps of one batch of examples. Its state can be saved and
// given to another run with the same model and options; the result has the bits
// of a run that never stopped.
//
// Source: Michel, Levy & Neubig 2019, arXiv:1905.10650; Voita et al. 2019,
// arXiv:1905.09418; Kwon et al. 2022, arXiv:2204.09656.
//
// Example:
//   auto run = ImportanceRun::create(model, {}).value();
//   while (run.done() < run.steps()) {
//     Status s = run.step();
//   }
//   HeadImportance heads = run.result();
//   heads.order.front();  // matters least
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/module/head_hooks.h"
#include "headwise/steps/head_gates.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// For each example of a batch, by layer: (examples, heads).
struct HeadMeans {
  std::vector<Tensor<float, 2>> entropy;  // over the queries, in nats
  std::vector<Tensor<float, 2>> largest;
};

// A model as importance sees it: the losses of examples for given gates of its
// heads. Each function takes examples [begin, end) and the gates of all layers;
// a function that the method does not need may be missing.
struct GatedModel {
  // For each layer, the numbers of the heads that it has.
  std::vector<std::vector<std::size_t>> heads;
  std::size_t examples = 0;
  std::function<Result<std::vector<double>>(std::size_t, std::size_t,
                                            HeadGateSpan)>
      losses{};
  // By layer, (examples, heads).
  std::function<Result<std::vector<Tensor<float, 2>>>(std::size_t, std::size_t,
                                                      HeadGateSpan)>
      gradients{};
  std::function<Result<HeadMeans>(std::size_t, std::size_t, HeadGateSpan)>
      means{};
};

enum class ImportanceMethod {
  gradient,
  fisher,
  ablation,
  entropy,
  confidence,
  random
};
// In the order of the enum.
inline constexpr std::array<std::string_view, 6> kImportanceMethodNames = {
    "gradient", "fisher", "ablation", "entropy", "confidence", "random"};
constexpr std::string_view name_of(ImportanceMethod method) {
  return kImportanceMethodNames[static_cast<std::size_t>(method)];
}
constexpr std::optional<ImportanceMethod> importance_method(
    std::string_view name) {
  const auto found = std::ranges::find(kImportanceMethodNames, name);
  return found == kImportanceMethodNames.end()
             ? std::optional<ImportanceMethod>()
             : static_cast<ImportanceMethod>(found -
                                             kImportanceMethodNames.begin());
}

struct ImportanceOptions {
  ImportanceMethod method = ImportanceMethod::gradient;
  // The share of all heads that each round turns off, above 0 and at most 1;
  // not given: one shot.
  std::optional<double> share_a_round{};
  std::size_t batch = 16;  // examples per step
  Seed seed{};             // for the method random
};

struct HeadImportance {
  // By layer, as GatedModel::heads; in an iterative run, from the round in
  // which the head was turned off.
  std::vector<std::vector<double>> scores;
  // All heads, in the order of removal; of equal scores the lowest layer and
  // head first.
  std::vector<HeadId> order;
};

// The state of a run.
struct ImportanceState {
  std::size_t done = 0;      // steps
  std::size_t in_round = 0;  // steps of this round
  // In this round: the sum of all examples' losses, then that of each head.
  std::vector<double> sums;
  std::vector<std::vector<double>> scores;
  std::vector<HeadId> order;  // turned off so far
};

class ImportanceRun {
 public:
  // Errors: invalid_argument for a model without heads, or without examples if
  // the method needs them, a missing function, a share out of range, or a batch
  // of 0.
  static Result<ImportanceRun> create(GatedModel model,
                                      const ImportanceOptions& options);

  std::size_t steps() const { return steps_; }
  std::size_t done() const { return state_.done; }
  // Errors: those of the model; out_of_range for a score that is not finite;
  // the message names the head. After an error nothing has changed, and the
  // step can be tried again.
  Status step();
  // Only after the last step.
  HeadImportance result() const { return {state_.scores, state_.order}; }

  const ImportanceState& state() const { return state_; }
  // Errors: invalid_argument for a state of a run with other heads or steps.
  HEADWISE_HIDDEN Status set_state(ImportanceState state);

 private:
  struct Place {
    std::size_t layer;
    std::size_t at;      // among the heads that the layer has
    std::size_t number;  // among those of all layers
  };

  HEADWISE_HIDDEN ImportanceRun(GatedModel model,
                                const ImportanceOptions& options,
                                std::vector<Tensor<float, 1>> gates);

  HEADWISE_HIDDEN std::size_t batches() const;
  HEADWISE_HIDDEN std::size_t steps_of_round(std::size_t live) const;
  HEADWISE_HIDDEN std::size_t turned_off_in_round(std::size_t live) const;
  HEADWISE_HIDDEN std::size_t count_steps() const;
  HEADWISE_HIDDEN std::vector<Place> live() const;
  HEADWISE_HIDDEN Status add_gradients(std::size_t begin, std::size_t end);
  HEADWISE_HIDDEN Status add_means(std::size_t begin, std::size_t end);
  HEADWISE_HIDDEN Status add_losses(std::size_t begin, std::size_t end);
  HEADWISE_HIDDEN Status add_batch();
  HEADWISE_HIDDEN std::vector<double> means_of_round(
      const std::vector<Place>& places) const;
  HEADWISE_HIDDEN Status check_finite(const std::vector<Place>& places,
                                      const std::vector<double>& scores) const;
  HEADWISE_HIDDEN static void divide_by_norms(const std::vector<Place>& places,
                                              std::vector<double>& scores);
  HEADWISE_HIDDEN Status end_round();
  HEADWISE_HIDDEN void set_gates();
  HEADWISE_HIDDEN bool fits(const ImportanceState& state) const;

  GatedModel model_;
  ImportanceOptions options_;
  std::vector<Tensor<float, 1>> gates_;
  std::vector<Place> heads_;  // all
  std::size_t steps_ = 0;
  ImportanceState state_;
};

// A file with the scores of a model's heads, as JSON:
//
//   {"format": "headwise-importance", "version": 1,
//    "method": "gradient", "share_a_round": null, "loss": "classification",
//    "model": {"sha256": "..", "num_heads": 12},
//    "examples": 160, "max_tokens": 64, "seed": 0,
//    "heads":  [[0, 1, ..], ..],   // the numbers of each layer's heads
//    "scores": [[0.1, 0.7, ..], ..],
//    "order":  [[5, 3], [0, 7], ..]}   // layer and head, first removed first
//
// Errors: io_error; bad_data for text that is not such JSON: details().entry is
// the JSON path, with what was given and expected; out_of_memory.
//   read_importance: scores.json: scores[1][0] is null, expected a finite
//   number
//
// Example:
//   Status s = write_importance("scores.json", run.result());
//   ImportanceFile file = read_importance("scores.json").value();
//   s = check_importance(file, "scores.json", encoder);
//   file.importance.order.front();  // matters least

struct ImportanceFile {
  std::string method;
  std::optional<double> share_a_round{};
  // "classification", "next_token", "embedding", or "none" for random.
  std::string loss;
  std::string model_sha256;   // of the parameter files
  std::size_t num_heads = 0;  // per layer, before any was pruned
  std::size_t examples = 0;
  std::size_t max_tokens = 0;  // per example
  std::uint64_t seed = 0;
  std::vector<std::vector<std::size_t>> heads;  // per layer
  HeadImportance importance;
};

// One line for each layer.
std::string importance_json(const ImportanceFile& file);
Status write_importance(const std::string& path, const ImportanceFile& file);

// Without "order" the heads are ordered by their scores.
Result<ImportanceFile> read_importance(const std::string& path);
// Errors use `path` as the file.
Result<ImportanceFile> parse_importance(std::string_view text,
                                        const std::string& path);

// Checks that the scores, read from `path`, are for the heads of this model.
// Errors: bad_data; io_error; out_of_memory.
Status check_importance(const ImportanceFile& file, const std::string& path,
                        const SentenceEncoder& encoder);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
