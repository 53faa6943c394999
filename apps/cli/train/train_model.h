// The model of `headwise train`, a classifier of one attention layer:
//
//   embedded  = embedding(tokens)
//   output    = multi_head_attention(embedded, embedded, embedded)
//   logits    = classifier(output)
//
// In an encoder-decoder task the query is embedding(target tokens). With
// `uniform` every score is 0, so that every query attends to all keys alike:
// the same model without what attention is for.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/any_view.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/executor.h"
#include "headwise/steps/embedding.h"
#include "headwise/steps/projection.h"
#include "train_task.h"

namespace headwise::cli {

struct TrainModelConfig {
  std::size_t embed_dim = 64;
  std::size_t num_heads = 2;
  Scoring scoring = Scoring::dot;  // of no account where uniform
  bool uniform = false;
};

struct ParamGradient {
  std::string name;
  Tensor<float, 1> values;
};

// What one batch teaches.
struct TrainGradients {
  double loss = 0;
  std::vector<ParamGradient> params;  // in the order of the backward pass
};

// How the questions of one batch were answered.
struct TrainAnswers {
  double loss = 0;
  std::size_t asked = 0;
  std::size_t right = 0;
  // The attention weight on the key that holds the answer, by head, summed over
  // the questions.
  std::vector<double> on_answer;
};

class TrainModel {
 public:
  // Errors: those of the layers.
  static Result<TrainModel> create(const TrainModelConfig& config, Seed seed);

  // Errors: those of the layers; out_of_range when the loss is not finite: the
  // message says what was the first not to be.
  Result<TrainGradients> differentiate(const TrainBatch& batch,
                                       const Executor& executor) const;
  Result<TrainAnswers> answer(const TrainBatch& batch,
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

  TrainModel(const TrainModelConfig& config, Embedding embedding,
             MultiHeadAttention layer, Linear classifier)
      : config_(config),
        embedding_(std::move(embedding)),
        layer_(std::move(layer)),
        classifier_(std::move(classifier)) {}

  AttentionOptions options(const Executor& executor) const;
  Result<Inputs> embed(const TrainBatch& batch) const;
  Result<ParamGradient> embedding_gradient(
      const TrainBatch& batch, MultiHeadAttentionGradients gradients) const;

  TrainModelConfig config_;
  Embedding embedding_;
  MultiHeadAttention layer_;
  Linear classifier_;
};

}  // namespace headwise::cli
