// What turns a sentence encoder into a classifier: a linear map from the
// embedding to one score per label,
//
//   logits        = weight embedding + bias
//   probabilities = softmax(logits)
//
//   weight  (labels, embedding_size)
//   bias    (labels)
//
// In a model's folder it is classifier.safetensors, whose metadata `labels` is
// a JSON list of the labels' names.
//
// Errors: io_error; bad_data for a file that is not a classifier, for
// parameters that are missing, not finite or do not match the number of labels,
// and for labels that are not a list of different texts; out_of_memory. Errors
// of training: invalid_argument, shape_mismatch and out_of_range as in
// cross_entropy().
//
// Example:
//   auto probe = LabelProbe::train(embeddings, targets, {"sport", "tech"});
//   auto logits = probe->logits(embeddings);
//   probe->labels()[predicted_label(logits->view(), 0)];
//   auto probabilities = probe->probabilities(embeddings);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/run/reports.h"
#include "headwise/steps/projection.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// AdamW from parameters of 0, with all examples in each step: nothing is
// random.
struct ProbeTraining {
  std::size_t steps = 300;
  double learning_rate = 0.05;
  double weight_decay = 0.01;
  Progress progress{};                 // counts steps
  const Executor* executor = nullptr;  // null: the default one
};

class LabelProbe {
 public:
  // Errors: those of Linear::from_params(); invalid_argument for fewer than two
  // labels, two with the same name, or one that is not UTF-8; shape_mismatch if
  // there is not one row per label, or no bias.
  static Result<LabelProbe> create(Linear linear,
                                   std::vector<std::string> labels);
  // Parameters of 0.
  static Result<LabelProbe> create(std::size_t embedding_size,
                                   std::vector<std::string> labels);
  // embeddings (N, embedding_size), targets (N): indices of labels.
  static Result<LabelProbe> train(TensorView<const float, 2> embeddings,
                                  TensorView<const std::int64_t, 1> targets,
                                  std::vector<std::string> labels,
                                  const ProbeTraining& training = {});
  // From a model's folder; no value if it has none.
  static Result<std::optional<LabelProbe>> read(const std::string& folder,
                                                std::size_t embedding_size);
  // Writes FOLDER/classifier.safetensors, completely or not at all.
  Status write(const std::string& folder) const;

  const std::vector<std::string>& labels() const { return labels_; }
  const Linear& linear() const { return linear_; }
  Linear& linear() { return linear_; }

  // Logits (N, labels) for embeddings (N, embedding_size). Errors:
  // shape_mismatch.
  Result<Tensor<float, 2>> logits(
      TensorView<const float, 2> embeddings,
      const Executor& executor = Executor::default_executor()) const;

  // The probability of each label, (N, labels): the softmax of each row of
  // logits, computed in binary64 and rounded once. A row's bits depend only on
  // its embedding, not on the other rows. If a logit of a row is NaN or
  // infinite, the row is NaN. Errors: shape_mismatch.
  Result<Tensor<float, 2>> probabilities(
      TensorView<const float, 2> embeddings,
      const Executor& executor = Executor::default_executor()) const;

 private:
  LabelProbe(Linear linear, std::vector<std::string> labels)
      : linear_(std::move(linear)), labels_(std::move(labels)) {}

  Linear linear_;
  std::vector<std::string> labels_;
};

// The index of the largest logit of a row, the first among equals.
std::size_t predicted_label(TensorView<const float, 2> logits, std::size_t row);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
