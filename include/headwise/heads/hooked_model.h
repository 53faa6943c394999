// A model as interventions see it: sequences of tokens in, hidden states and
// outputs out, and hooks at the heads on the way.
//
//   hidden   (rows, hidden_size)    the sequences' tokens, one after another
//   outputs  (sequences, outputs)   an embedding, or logits: of a classifier or
//                                   of the next token
//
// A sequence's bits depend neither on the other sequences nor on threads.
// Errors: those of the model; invalid_argument for a sequence without a token.
//
// Example:
//   auto model = hooked_sentences(encoder, probe ? &*probe : nullptr);
//   auto hidden = model->hidden(ids, {.hooks = hooks}).value();
//   auto outputs = model->outputs(ids, hidden, nullptr).value();
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/models/label_probe.h"
#include "headwise/models/language_model.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/run/executor.h"
#include "headwise/steps/tokens.h"
#include "headwise/transformer/model_pass.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class HookedModel {
 public:
  // Of a loss, (sequences, outputs), from the outputs.
  using OutputGradient =
      FunctionRef<Result<Tensor<float, 2>>(const Tensor<float, 2>& outputs)>;

  virtual ~HookedModel() = default;

  // By layer the heads' original numbers, ascending.
  virtual std::vector<std::vector<std::size_t>> heads() const = 0;
  // Whether a token sees only itself and the tokens before it.
  virtual bool causal() const = 0;

  // The hidden states after the last layer.
  virtual Result<Tensor<float, 2>> hidden(const RaggedTokens& ids,
                                          const ModelPass& pass) const = 0;
  // Null: Executor::default_executor().
  virtual Result<Tensor<float, 2>> outputs(const RaggedTokens& ids,
                                           TensorView<const float, 2> hidden,
                                           const Executor* executor) const = 0;
  // A forward and backward pass, for pass.hooks.see and see_gradient. Errors:
  // also unsupported for a model that was not read for training;
  // invalid_argument for pass.from, before_each and hooks.edit.
  virtual Status differentiate(const RaggedTokens& ids, const ModelPass& pass,
                               OutputGradient d_outputs) const = 0;
};

// A language model. Outputs: the logits of the token after each sequence. The
// model must outlive it.
std::unique_ptr<HookedModel> hooked_language(const LanguageModel& model);

// A sentence encoder. Outputs: the logits of the probe or, without one, the
// embeddings. Both must outlive the model.
std::unique_ptr<HookedModel> hooked_sentences(
    const SentenceEncoder& encoder, const LabelProbe* probe = nullptr);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
