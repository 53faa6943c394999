// A model folder as a function from sentences to embeddings: tokenizer,
// encoder, pooling, Dense modules and normalisation, as sentence-transformers
// computes them.
//
//   sentences  ->  ids  ->  hidden states  ->  embeddings (sentences, size)
//
// A sentence's bits do not depend on the other sentences, its place among them
// or the threads.
//
// Errors of reading: those of read_model_settings(), Tokenizer::read() and
// Transformer::read(); bad_data for a vocabulary whose size differs from the
// model's.
//
// Example:
//   SentenceEncoder model = SentenceEncoder::read("model").value();
//   std::array<std::string_view, 2> sentences = {"Heads matter.", "So do we."};
//   SentenceEmbeddings done = model.encode(sentences).value();
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/hidden.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/interop/safetensors.h"
#include "headwise/models/model_settings.h"
#include "headwise/run/executor.h"
#include "headwise/run/reports.h"
#include "headwise/tokenizer/tokenizer.h"
#include "headwise/transformer/transformer.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct SentenceOptions {
  // Counts sentences; called by one thread at a time, but not always the same.
  Progress progress{};
  // The number of tokens used of a sentence, at most that of the settings,
  // which is the default.
  std::optional<std::size_t> max_tokens{};
  // The name of the prompt to prepend to each sentence; empty: no prompt.
  // Default: the model's default prompt.
  std::optional<std::string> prompt_name{};
  const Executor* executor = nullptr;  // null: Executor::default_executor()
};

// Sentences as ids, and how many tokens of each were cut off.
struct SentenceTokens {
  RaggedTokens ids;
  std::vector<std::size_t> cut;
};

// What a forward pass in training keeps for one backward pass.
struct SentencesSaved {
  TransformerSaved encoder;
  std::vector<std::size_t> lengths;  // tokens of each sentence
  Tensor<float, 2> embeddings;       // (sentences, embedding_size)
};

struct SentenceEmbeddings {
  Tensor<float, 2> embeddings;   // (sentences, embedding_size)
  std::vector<std::size_t> cut;  // for each, the tokens beyond max_tokens
  std::size_t tokens = 0;        // of all sentences, without those cut off
};

class SentenceEncoder {
 public:
  // A folder or a GGUF file; of an encoder-decoder, its encoder. `access` is
  // that of Transformer::read().
  static Result<SentenceEncoder> read(const std::string& folder,
                                      const ModelAccess& access = {});
  // Of a model in memory; an embedding is the mean of the hidden states.
  // Errors: invalid_argument for a tokenizer with more tokens than the model.
  static Result<SentenceEncoder> create(Transformer model, Tokenizer tokenizer);
  // The same, but an encoder-decoder is read with its decoder: it has no
  // embeddings.
  HEADWISE_HIDDEN static Result<SentenceEncoder> read_of(
      ModelSettings settings, const ModelAccess& access);

  const ModelSettings& settings() const { return settings_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  const Transformer& encoder() const { return encoder_; }
  // To train it, or to prune its heads.
  Transformer& encoder() { return encoder_; }
  // How many tokens, such as [CLS] and [SEP], are added to a text.
  std::size_t added_tokens() const { return added_tokens_; }
  std::size_t embedding_size() const {
    const std::size_t all =
        settings_.dense.empty()
            ? settings_.pooling.size() * settings_.shape.hidden_size
            : settings_.dense.back().out_features;
    return std::min(settings_.truncate_dim.value_or(all), all);
  }
  // The embedding of a sentence from its hidden states (tokens, hidden_size),
  // at least one: `to` has embedding_size() numbers. And from d_embedding the
  // gradient by the hidden states. Both may throw std::bad_alloc.
  HEADWISE_HIDDEN void embed(TensorView<const float, 2> hidden, bool normalize,
                             std::span<float> to) const;
  HEADWISE_HIDDEN void embed_backward(TensorView<const float, 2> hidden,
                                      bool normalize,
                                      std::span<const float> d_embedding,
                                      TensorView<float, 2> d_hidden) const;

  // Errors: bad_data for a sentence that is not UTF-8, with its number, from 0;
  // invalid_argument for a prompt that the settings do not have; out_of_memory;
  // unsupported for a HEADWISE_TARGET that is not available, and for a prompt
  // whose tokens the settings leave out of the pooling.
  Result<SentenceEmbeddings> encode(std::span<const std::string_view> sentences,
                                    const SentenceOptions& options = {}) const;

  // The tokens of a text, or of a pair of texts, as the model expects them.
  // Errors: those of Tokenizer::encode().
  Result<Encoding> encode_text(std::string_view text,
                               std::size_t max_tokens) const;
  Result<Encoding> encode_pair(std::string_view first, std::string_view second,
                               std::size_t max_tokens) const;
  // The first half of encode(), without progress. Errors: bad_data for a
  // sentence that is not UTF-8.
  Result<SentenceTokens> tokenize(std::span<const std::string_view> sentences,
                                  const SentenceOptions& options = {}) const;
  // The embeddings of sentences given as ids, at least one id each, and what
  // backward() needs. Dense modules have no gradients of their own. Errors:
  // those of Transformer::forward_for_backward(); invalid_argument for a
  // sentence without a token.
  Result<SentencesSaved> forward_for_backward(const RaggedTokens& ids,
                                              const ModelPass& pass = {}) const;
  // From d_embeddings (sentences, embedding_size). Errors: those of
  // Transformer::backward().
  Result<ModelGradients> backward(
      SentencesSaved& saved, TensorView<const float, 2> d_embeddings,
      ModelWanted wanted = ModelWanted::params_and_gates,
      ParamTerms* terms = nullptr) const;

 private:
  struct HEADWISE_HIDDEN Modules;

  SentenceEncoder(ModelSettings settings, Tokenizer tokenizer,
                  Transformer encoder, Hidden<Modules> modules,
                  std::size_t added_tokens)
      : settings_(std::move(settings)),
        tokenizer_(std::move(tokenizer)),
        encoder_(std::move(encoder)),
        modules_(std::move(modules)),
        added_tokens_(added_tokens) {}

  HEADWISE_HIDDEN static Result<Hidden<Modules>> read_modules(
      const ModelSettings& settings);
  HEADWISE_HIDDEN std::vector<std::vector<float>> vectors_of(
      TensorView<const float, 2> hidden) const;

  HEADWISE_HIDDEN EncodeOptions text_options(std::size_t max_tokens) const;
  HEADWISE_HIDDEN Result<std::string> prompt_of(
      const SentenceOptions& options) const;

  ModelSettings settings_;
  Tokenizer tokenizer_;
  Transformer encoder_;
  Hidden<Modules> modules_;
  std::size_t added_tokens_;
};

// What identifies a model and its files: digests of what its results depend on.
//
// Errors: io_error, and those of opening the parameters; out_of_memory.
//
// Example:
//   SentenceEncoder encoder = SentenceEncoder::read("model").value();
//   std::string digest = digest_of_model("model", encoder).value();

// The SHA-256 of everything that the results of the model in `folder` depend
// on: parameters, settings, vocabulary and classifier, each with its name.
Result<std::string> digest_of_model(const std::string& folder,
                                    const SentenceEncoder& encoder);

// The size of the parameter files in a folder, in bytes.
Result<std::size_t> params_bytes(const std::string& folder);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
