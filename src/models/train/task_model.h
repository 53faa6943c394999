// The model that learns a task, a classifier with one attention layer:
//
//   embedded  = embedding(tokens)
//   output    = multi_head_attention(embedded, embedded, embedded)
//   logits    = classifier(output)
//
// In an encoder-decoder task the query is embedding(target tokens). With
// `uniform` every score is 0, so every query attends to all keys equally: the
// same model without the benefit of attention.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/any_view.h"
#include "headwise/base/arithmetic.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/executor.h"
#include "headwise/steps/embedding.h"
#include "headwise/steps/projection.h"
#include "headwise/train/task_run.h"

namespace headwise::inline HEADWISE_ABI {

struct TaskModelConfig {
  std::size_t embed_dim = 64;
  std::size_t num_heads = 2;
  Scoring scoring = Scoring::dot;  // ignored if uniform
  bool uniform = false;
  Arithmetic arithmetic = Arithmetic::exact;  // of the layer
};

struct ParamGradient {
  std::string name;
  Tensor<float, 1> values;
};

// The loss of one batch and its gradients.
struct TaskGradients {
  double loss = 0;
  std::vector<ParamGradient> params;  // in the order of the backward pass
};

// How the questions of one batch were answered.
struct TaskAnswers {
  double loss = 0;
  std::size_t asked = 0;
  std::size_t right = 0;
  // Per head, the sum over the questions of the attention weight on the key
  // that holds the answer.
  std::vector<double> on_answer;
};

class TaskModel {
 public:
  // Errors: those of the layers.
  static Result<TaskModel> create(const TaskModelConfig& config, Seed seed);

  // Errors: those of the layers; out_of_range if the loss is not finite; the
  // message names the first value that is not.
  Result<TaskGradients> differentiate(const TaskBatch& batch,
                                      const Executor& executor) const;
  Result<TaskAnswers> answer(const TaskBatch& batch,
                             const Executor& executor) const;

  // Shows each parameter's elements to `change`, which may write them:
  // "embedding.weight", "w_q.weight", ..., "classifier.bias". Its first error
  // ends the update and is returned.
  Status update(
      FunctionRef<Status(std::string_view name, std::span<float> values)>
          change);
  // By name; valid until the next update.
  std::map<std::string, AnyView> params() const;

 private:
  struct Inputs;

  TaskModel(const TaskModelConfig& config, Embedding embedding,
            MultiHeadAttention layer, Linear classifier)
      : config_(config),
        embedding_(std::move(embedding)),
        layer_(std::move(layer)),
        classifier_(std::move(classifier)) {}

  AttentionOptions options(const Executor& executor) const;
  Result<Inputs> embed(const TaskBatch& batch) const;
  Result<ParamGradient> embedding_gradient(
      const TaskBatch& batch, MultiHeadAttentionGradients gradients) const;

  TaskModelConfig config_;
  Embedding embedding_;
  MultiHeadAttention layer_;
  Linear classifier_;
};

}  // namespace headwise::inline HEADWISE_ABI
