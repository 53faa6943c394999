// What makes a sentence encoder a classifier: a linear map of the embedding to
// one score a label,
//
//   logits        = weight embedding + bias
//   probabilities = softmax(logits)
//
//   weight  (labels, embedding_size)
//   bias    (labels)
//
// In a model's folder it is classifier.safetensors, whose metadata `labels` is
// the list of their names as JSON.
//
// Errors: io_error; bad_data for a file that is none, for parameters that are
// missing, not finite or of other sizes than there are labels, and for labels
// that are no list of different texts; out_of_memory. Of training:
// invalid_argument, shape_mismatch, out_of_range as cross_entropy().
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
#include "headwise/run/progress.h"
#include "headwise/steps/projection.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// All examples in each step, AdamW from parameters of 0: no chance is in it.
struct ProbeTraining {
  std::size_t steps = 300;
  double learning_rate = 0.05;
  double weight_decay = 0.01;
  Progress progress{};  // counts steps
};

class LabelProbe {
 public:
  // Errors: those of Linear::from_params(); invalid_argument for fewer than two
  // labels, two of one name, or one that is no UTF-8; shape_mismatch for other
  // rows than labels, and for no bias.
  static Result<LabelProbe> create(Linear linear,
                                   std::vector<std::string> labels);
  // Parameters of 0.
  static Result<LabelProbe> create(std::size_t embedding_size,
                                   std::vector<std::string> labels);
  // embeddings (N, embedding_size), targets (N): numbers of labels.
  static Result<LabelProbe> train(TensorView<const float, 2> embeddings,
                                  TensorView<const std::int64_t, 1> targets,
                                  std::vector<std::string> labels,
                                  const ProbeTraining& training = {});
  // Of a model's folder; nothing where it has none.
  static Result<std::optional<LabelProbe>> read(const std::string& folder,
                                                std::size_t embedding_size);
  // FOLDER/classifier.safetensors, whole or not at all.
  Status write(const std::string& folder) const;

  const std::vector<std::string>& labels() const { return labels_; }
  const Linear& linear() const { return linear_; }
  Linear& linear() { return linear_; }

  // logits (N, labels) of embeddings (N, embedding_size). Errors:
  // shape_mismatch.
  Result<Tensor<float, 2>> logits(TensorView<const float, 2> embeddings) const;

  // The probability of each label, (N, labels): the softmax of each row of
  // logits, computed in binary64 and rounded once. A row's bits depend on its
  // embedding, not on the other rows. A row with a logit that is NaN or
  // infinite is NaN. Errors: shape_mismatch.
  Result<Tensor<float, 2>> probabilities(
      TensorView<const float, 2> embeddings) const;

 private:
  LabelProbe(Linear linear, std::vector<std::string> labels)
      : linear_(std::move(linear)), labels_(std::move(labels)) {}

  Linear linear_;
  std::vector<std::string> labels_;
};

// The label of the largest of a row's logits, the first among equals.
std::size_t predicted_label(TensorView<const float, 2> logits, std::size_t row);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
