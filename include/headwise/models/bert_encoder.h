// The encoder of a BERT-family model: token ids -> a vector for each token.
//
//   x = LayerNorm(word[id] + position[t] + token_type[0])
//   in each layer
//     x = LayerNorm(x + attention(x, x, x))
//     x = LayerNorm(x + w_out gelu(w_in x + b_in) + b_out)
//
//   ids     B sequences                    in   steps/tokens.h
//   hidden  (rows, hidden_size)            out  the sequences' tokens, one
//                                               after another
//
// The batch is ragged: no padding is computed. A token's bits depend on its own
// sequence alone, not on the batch, its place in it or the threads.
//
// Parameters are read from model.safetensors or, for models in shards,
// model.safetensors.index.json, by the names that BERT and DistilBERT give them
// (with or without "bert." and "distilbert." before). Heads that were pruned
// are not in the file; its metadata says which ones were kept. For inference
// the encoder keeps them packed, and reads float32 word embeddings from the
// file's own bytes: FileAccess says what that means for a file that another
// program changes. For gradients, read with BertUse::training, which keeps all
// parameters twice.
//
// Backward, d_hidden being the gradient of a loss by hidden: all parameters,
// and the gates of the heads per sequence. The sums over the tokens are those
// of docs/arithmetic.md: no bit depends on threads.
//
// Errors of reading: io_error; bad_data for a file of another format, and for
// parameters that are missing, not finite or of other sizes than the config's;
// out_of_memory.
//   read_bert_encoder: m.safetensors: encoder.layer.0.output.dense.weight has
//   shape (384, 1535), expected (hidden_size, intermediate_size) = (384, 1536)
//
// Source: Devlin et al. 2018, arXiv:1810.04805, section 3; Sanh et al. 2019,
// arXiv:1910.01108 (DistilBERT: no token types).
//
// Example:
//   ModelSettings settings = read_model_settings("model").value();
//   BertEncoder encoder =
//       BertEncoder::read("model", settings.config).value();
//   BertResult result = encoder.forward({{101, 7592, 102}}).value();
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/base/any_view.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/interop/safetensors.h"
#include "headwise/models/model_settings.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/executor.h"
#include "headwise/steps/layer_norm.h"
#include "headwise/steps/projection.h"
#include "headwise/steps/tokens.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct BertLayer {
  MultiHeadAttention attention;
  LayerNormParams attention_norm;
  Linear intermediate;  // w_in (intermediate_size, hidden_size)
  Linear output;        // w_out (hidden_size, intermediate_size)
  LayerNormParams output_norm;
};

// What the parameters are read for.
enum class BertUse { inference, training };

struct BertAccess {
  FileAccess file = FileAccess::mapped;
  BertUse use = BertUse::inference;
};

// What a layer takes, (1, rows, hidden_size); an error ends the call.
using BeforeLayer =
    std::function<Status(std::size_t layer, TensorView<const float, 3> hidden)>;

struct BertOptions {
  // The hidden states that this layer takes: only those before it are run. Not
  // given: all run.
  std::optional<std::size_t> before_layer{};
  bool attn_weights = false;
  // Of each layer, a factor on each of its heads (steps/head_gates.h); empty:
  // none. They must outlive the call, and its backward pass.
  std::span<const Tensor<float, 1>> head_gates{};
  BeforeLayer before_each{};           // called before each layer that is run
  const Executor* executor = nullptr;  // null: Executor::default_executor()
};

struct BertResult {
  Tensor<float, 2> hidden;  // (rows, hidden_size)
  // Of each layer that was run, when asked for: (B, num_heads, L, L), L that of
  // the longest sequence; 0 where a sequence has no query or key.
  std::vector<Tensor<float, 4>> attn_weights;
};

// What a forward pass in training keeps for its backward pass. It serves one
// backward pass. Moved, never copied.
class BertSaved {
 public:
  // (rows, hidden_size)
  TensorView<const float, 2> hidden() const { return hidden_.view(); }

 private:
  friend class BertEncoder;
  struct State;
  struct Delete {
    void operator()(State* state) const;
  };

  Tensor<float, 2> hidden_;
  std::unique_ptr<State, Delete> state_;  // null after the backward pass
};

struct BertGradients {
  // Of every parameter by its name in files, elements in order; empty unless
  // requested.
  std::map<std::string, Tensor<float, 1>, std::less<>> params;
  // Of each layer, per sequence: (B, heads of the layer); empty without
  // BertOptions::head_gates.
  std::vector<Tensor<float, 2>> head_gates;
};

// Which gradients are wanted.
enum class BertWanted { params_and_gates, gates };

// The memory of a call. Calls that use the same object allocate it once.
struct BertMemory {
  Tensor<float, 3> hidden{};        // (1, rows, hidden_size)
  Tensor<float, 3> attended{};      // (1, rows, hidden_size)
  Tensor<float, 3> intermediate{};  // (1, rows, intermediate_size)
};

// An encoder that was moved from can only be destroyed or assigned to.
class BertEncoder {
 public:
  // `folder` holds the parameters: settings.transformer_folder.
  static Result<BertEncoder> read(const std::string& folder,
                                  const BertConfig& config,
                                  const BertAccess& access = {});

  // With the heads that were kept.
  const BertConfig& config() const;
  const std::vector<BertLayer>& layers() const;

  // Errors: out_of_range for an id outside the vocabulary, a sequence of more
  // than max_positions tokens, a layer that is not there; out_of_memory.
  Result<BertResult> forward(const RaggedTokens& ids,
                             const BertOptions& options = {}) const;
  // The same; the hidden states are memory.hidden, and `attn_weights` gets what
  // options.attn_weights asks for.
  Status forward_in(const RaggedTokens& ids, const BertOptions& options,
                    BertMemory& memory,
                    std::vector<Tensor<float, 4>>& attn_weights) const;

  // The forward pass of training: the same hidden states, and what backward()
  // needs. All layers run; options.attn_weights and before_each are errors
  // (invalid_argument), an encoder read for inference is one (unsupported).
  Result<BertSaved> forward_for_backward(const RaggedTokens& ids,
                                         const BertOptions& options = {}) const;
  // Of d_hidden (rows, hidden_size). Errors: shape_mismatch, out_of_memory;
  // invalid_argument for a state that was used.
  Result<BertGradients> backward(
      BertSaved& saved, TensorView<const float, 2> d_hidden,
      BertWanted wanted = BertWanted::params_and_gates) const;

  // Shows each parameter's elements to `change`, which may write them, by their
  // names in files. A name is valid during the call of `change` only. No other
  // call may run meanwhile, and backward() refuses what was saved before. The
  // first error of `change` ends the update and is returned, and an exception
  // of `change` goes on to the caller; what `change` wrote until then stays,
  // and the encoder remains usable. Errors, where nothing is shown: unsupported
  // for an encoder read for inference; out_of_memory.
  Status update(
      FunctionRef<Status(std::string_view name, std::span<float> values)>
          change);
  // The same, read-only; valid until the next update. Empty for inference.
  std::map<std::string, AnyView> params() const;
  // Only the parameters of attention.
  std::map<std::string, AnyView> attention_params() const;

  // Replaces the attention of a layer by one with fewer heads. `kept_heads` are
  // the numbers of those that remain. Errors: shape_mismatch, out_of_range.
  Status replace_attention(std::size_t layer, MultiHeadAttention attention,
                           std::vector<std::size_t> kept_heads);

 private:
  struct State;
  struct Delete {
    void operator()(State* state) const;
  };

  explicit BertEncoder(std::unique_ptr<State, Delete> state)
      : state_(std::move(state)) {}

  std::unique_ptr<State, Delete> state_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
