// A model that predicts the next token of a text, of any family.
//
//   logits  (rows, vocab_size)  of the token after each row; the rows of the
//                               sequences follow one another
//
// Example:
//   auto model = read_language_model("SmolLM2").value();
//   RaggedTokens ids = {model->encode("Heads", 64).value().ids};
//   Tensor<float, 2> logits = model->logits(ids).value();
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/models/text_model.h"
#include "headwise/run/executor.h"
#include "headwise/steps/tokens.h"
#include "headwise/transformer/model_pass.h"
#include "headwise/transformer/transformer.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class LanguageModel : public TextModel {
 public:
  // What logits are taken of, (rows, hidden_size). Errors: those of run().
  virtual Result<Tensor<float, 2>> hidden(const RaggedTokens& ids,
                                          const ModelPass& pass = {}) const = 0;
  // The logits of any rows of that. Errors: shape_mismatch, out_of_memory.
  virtual Result<Tensor<float, 2>> unembed(
      TensorView<const float, 2> hidden,
      const Executor* executor = nullptr) const = 0;
  // Both.
  Result<Tensor<float, 2>> logits(const RaggedTokens& ids,
                                  const ModelPass& pass = {}) const;

  // A forward and a backward pass: the gradients by the gates of a loss, whose
  // gradient by the logits `d_logits` gives. Errors: also unsupported for a
  // model that was not read for training; invalid_argument for what training
  // does not take.
  using LogitsGradient =
      FunctionRef<Result<Tensor<float, 2>>(TensorView<const float, 2> logits)>;
  virtual Result<ModelGradients> gate_gradients(
      const RaggedTokens& ids, const ModelPass& pass,
      LogitsGradient d_logits) const = 0;

  // The id of a token, given as in the vocabulary or as label() shows it.
  virtual std::optional<TokenId> find(std::string_view token) const = 0;
};

// Whether the folder or GGUF file holds a decoder with an unembedding. Models
// of sentence-transformers and models with a classifier do not count. False if
// the model cannot be read.
bool is_language_model(const std::string& path);

// Errors: those of SentenceEncoder::read(); unsupported for a model without
// logits.
Result<std::unique_ptr<LanguageModel>> read_language_model(
    const std::string& path, const ModelAccess& access = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
