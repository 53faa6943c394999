// A causal transformer with attention alone, small enough to be understood: it
// predicts the next token of a text.
//
//   x = token[id] + position[t]
//   in each layer
//     x = x + attention(norm(x), norm(x), norm(x))     causal
//   logits = unembedding(norm(x))
//
//   ids     B sequences         in   steps/tokens.h
//   logits  (rows, vocab_size)  out  of the token after each row; the rows of
//                                    the sequences follow one another
//
// The norms are layer norms, each with its own parameters. The batch is ragged.
// A token's bits depend only on the tokens before it and itself, not on the
// batch or the threads.
//
// A folder holds config.json, vocab.txt (Vocabulary) and
// model.safetensors with
//
//   token.weight (vocab_size, hidden_size), position.weight (max_positions,
//   hidden_size), layers.N.norm, layers.N.w_q, w_k, w_v and w_o, norm, each
//   with .weight and .bias, unembedding.weight (vocab_size, hidden_size)
//
// Pruned heads are not in the file; its metadata says which heads were kept. A
// text's tokens are its words, separated by whitespace; a word that is not in
// the vocabulary is [UNK].
//
// Errors of reading: io_error; bad_data for settings, a vocabulary or
// parameters that are missing, not finite or do not fit together;
// out_of_memory.
//
// Source: Elhage et al. 2021, "A mathematical framework for transformer
// circuits" (models with attention alone); Olsson et al. 2022,
// arXiv:2209.11895.
//
// Example:
//   CausalModel model = CausalModel::read("model").value();
//   auto saved = model.forward_for_backward({{7, 9, 7}}).value();
//   saved.logits();  // (3, vocab_size)
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/any_view.h"
#include "headwise/base/arithmetic.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/hidden.h"
#include "headwise/base/random.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/models/language_model.h"
#include "headwise/models/vocabulary.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/executor.h"
#include "headwise/steps/head_gates.h"
#include "headwise/steps/tokens.h"
#include "headwise/transformer/model_pass.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// model_type in config.json.
inline constexpr std::string_view kCausalModelType = "headwise-causal";

// Whether the folder's config.json says so; false where it cannot be read.
bool is_causal_model(const std::string& folder);

struct CausalConfig {
  std::size_t vocab_size = 0;     // to 2^31 - 1
  std::size_t hidden_size = 0;    // to 2^20
  std::size_t num_layers = 0;     // to 2^12
  std::size_t num_heads = 0;      // a divisor of hidden_size
  std::size_t max_positions = 0;  // to 2^31 - 1
  double layer_norm_eps = 1e-5;
  // By layer: original numbers, ascending; empty: all num_heads of every layer.
  std::vector<std::vector<std::size_t>> kept_heads{};
};

// What a forward pass in training keeps for its backward pass. It can be used
// for one backward pass, and be moved but not copied.
class CausalSaved {
 public:
  // (rows, vocab_size)
  TensorView<const float, 2> logits() const { return logits_.view(); }

 private:
  friend class CausalModel;
  struct HEADWISE_HIDDEN State;

  Tensor<float, 2> logits_;
  Hidden<State> state_;  // null after the backward pass
};

// A model that was moved from can only be destroyed or assigned to.
class CausalModel final : public LanguageModel {
 public:
  // Draws the parameters: embeddings from N(0, 1), linear maps as PyTorch's
  // nn.Linear, norms 1 and 0. Errors: invalid_argument for a size of 0, a
  // layer_norm_eps outside (0, 1) and kept_heads; bad_data for sizes that do
  // not fit together or that are not those of the vocabulary; out_of_memory.
  // In bf16 the layers multiply rounded numbers; the unembedding is exact.
  static Result<CausalModel> create(const CausalConfig& config,
                                    Vocabulary vocabulary, Seed seed,
                                    Arithmetic arithmetic = Arithmetic::exact);
  static Result<CausalModel> read(const std::string& folder,
                                  Arithmetic arithmetic = Arithmetic::exact);

  // Includes which heads were kept.
  const CausalConfig& config() const;
  const Vocabulary& vocabulary() const;

  const TextModelShape& shape() const override;
  std::vector<std::size_t> heads_in(std::size_t layer) const override;
  const MultiHeadAttention& attention(std::size_t layer) const override;
  Result<ModelTokens> encode(std::string_view text,
                             std::size_t max_tokens) const override;
  std::string_view token(TokenId id) const override;
  Status run(const RaggedTokens& ids, const ModelPass& pass) const override;

  // x after the last layer, (rows, hidden_size). Errors: those of run(), and
  // shape_mismatch for the hidden states of pass.from.
  Result<Tensor<float, 2>> hidden(const RaggedTokens& ids,
                                  const ModelPass& pass = {}) const override;
  Result<Tensor<float, 2>> unembed(
      TensorView<const float, 2> hidden,
      const Executor* executor = nullptr) const override;
  Result<ModelGradients> gate_gradients(const RaggedTokens& ids,
                                        const ModelPass& pass,
                                        LogitsGradient d_logits) const override;
  std::optional<TokenId> find(std::string_view token) const override;
  // The same logits, and what backward() needs. Errors: also invalid_argument
  // for pass.from, before_layer, before_each and hooks.edit.
  Result<CausalSaved> forward_for_backward(const RaggedTokens& ids,
                                           const ModelPass& pass = {}) const;
  // From d_logits (rows, vocab_size). Errors: shape_mismatch, out_of_memory;
  // invalid_argument for a state that was already used.
  Result<ModelGradients> backward(
      CausalSaved& saved, TensorView<const float, 2> d_logits,
      ModelWanted wanted = ModelWanted::params_and_gates) const;

  // Passes each parameter's elements to `change`, which may write them, with
  // its name in files. No other call may run meanwhile, and backward() refuses
  // what was saved before. The first error of `change` ends the update and is
  // returned.
  Status update(
      FunctionRef<Status(std::string_view name, std::span<float> values)>
          change);
  // Read-only; valid until the next update.
  std::map<std::string, AnyView> params() const;

  // Replaces the attention of these layers, which are moved from; after an
  // error nothing has changed. Errors: shape_mismatch, out_of_range.
  HEADWISE_HIDDEN Status replace_attention(std::span<KeptAttention> layers);

  // Writes the folder next to the one in its place and replaces that in one
  // step: a failure or a kill leaves the old model or the new one. `keep`:
  // names of files of the old folder to keep, such as a run's checkpoint.npz.
  // A folder with any other files or folders keeps them: the new files take the
  // places of the old ones, config.json last, and a failure puts those back.
  // Errors: io_error; invalid_argument for a path in `keep`; out_of_memory.
  Status write(const std::string& folder,
               std::span<const std::string> keep = {}) const;

 private:
  struct HEADWISE_HIDDEN State;

  explicit CausalModel(Hidden<State> state) : state_(std::move(state)) {}

  Hidden<State> state_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
