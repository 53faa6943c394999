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
// are gone from them; which ones were kept is in the file's metadata. For
// inference they are kept packed, those of the words in the file's own bytes
// where these are float32: FileAccess says what that means for a file that
// others change. Who wants gradients reads with BertUse::training, which keeps
// all of them twice.
//
// Backward, d_hidden being the gradient of a loss by hidden: all parameters,
// and the gates of the heads by sequence. The sums over the tokens are those of
// docs/arithmetic.md: no bit depends on threads.
//
// Errors of reading: io_error; bad_data for a file that is none, for parameters
// that are missing, not finite or of other sizes than the config's;
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
#include "headwise/steps/embedding.h"
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

// The parameters of the embeddings as the file has them.
struct BertTables {
  Embedding word;                   // (vocab_size, hidden_size)
  Embedding position;               // (max_positions, hidden_size)
  std::optional<Embedding> type{};  // (type_vocab_size, hidden_size)
};

struct BertEmbeddings {
  // (vocab_size, hidden_size), where the file has it if that can be: half of a
  // small model's bytes, of which a text needs a few rows.
  TensorView<const float, 2> word;
  std::shared_ptr<const void> word_owner;
  // position[t] + token_type[0]: (max_positions, hidden_size)
  Tensor<float, 2> place;
  LayerNormParams norm;
  // For training; `word` is then one of them.
  std::optional<BertTables> tables{};
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

// What a forward pass in training keeps for its backward pass: one, which uses
// it up. Moved, never copied.
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
  std::unique_ptr<State, Delete> state_;  // none: it was used
};

struct BertGradients {
  // Of every parameter by its name in files, the elements in their order; empty
  // where they were not asked for.
  std::map<std::string, Tensor<float, 1>, std::less<>> params;
  // Of each layer, by sequence: (B, heads of the layer); empty without
  // BertOptions::head_gates.
  std::vector<Tensor<float, 2>> head_gates;
};

// Which gradients are wanted.
enum class BertWanted { params_and_gates, gates };

// What a call computes in; kept from one to the next it is taken once.
struct BertMemory {
  Tensor<float, 3> hidden{};        // (1, rows, hidden_size)
  Tensor<float, 3> attended{};      // (1, rows, hidden_size)
  Tensor<float, 3> intermediate{};  // (1, rows, intermediate_size)
};

class BertEncoder {
 public:
  // `folder` holds the parameters: settings.transformer_folder.
  static Result<BertEncoder> read(const std::string& folder,
                                  const BertConfig& config,
                                  const BertAccess& access = {});

  // With the heads that were kept.
  const BertConfig& config() const { return config_; }
  const std::vector<BertLayer>& layers() const { return layers_; }

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
  // names in files; none of an encoder read for inference. No other call may
  // run meanwhile; what was saved before is of no more use. If `change` throws,
  // what it wrote until then stays, the encoder remains usable, and the
  // exception goes on to the caller, as does std::bad_alloc of a name.
  void update(
      FunctionRef<void(std::string_view name, std::span<float> values)> change);
  // The same to look at; valid until the next update. Empty for inference.
  std::map<std::string, AnyView> params() const;
  // Those of attention alone.
  std::map<std::string, AnyView> attention_params() const;

  // Another attention in a layer: what is left of it when heads were pruned,
  // those of these numbers. Errors: shape_mismatch, out_of_range.
  Status replace_attention(std::size_t layer, MultiHeadAttention attention,
                           std::vector<std::size_t> kept_heads);

 private:
  BertEncoder(BertConfig config, BertEmbeddings embeddings,
              std::vector<BertLayer> layers)
      : config_(std::move(config)),
        embeddings_(std::move(embeddings)),
        layers_(std::move(layers)) {}

  bool is_trainable() const { return embeddings_.tables.has_value(); }
  Status check_gates(std::span<const Tensor<float, 1>> head_gates) const;
  Status check(const RaggedTokens& ids, const BertOptions& options) const;

  BertConfig config_;
  BertEmbeddings embeddings_;
  std::vector<BertLayer> layers_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
