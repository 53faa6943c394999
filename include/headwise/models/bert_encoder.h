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
// (with or without "bert." and "distilbert." before). They are kept packed for
// inference: the layers cannot be trained. Those of the words stay in the
// file's own bytes where these are float32: FileAccess says what that means for
// a file that others change.
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
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/interop/safetensors.h"
#include "headwise/models/model_settings.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/run/executor.h"
#include "headwise/steps/layer_norm.h"
#include "headwise/steps/projection.h"
#include "headwise/steps/tokens.h"

namespace headwise {

struct BertLayer {
  MultiHeadAttention attention;
  LayerNormParams attention_norm;
  Linear intermediate;  // w_in (intermediate_size, hidden_size)
  Linear output;        // w_out (hidden_size, intermediate_size)
  LayerNormParams output_norm;
};

struct BertEmbeddings {
  // (vocab_size, hidden_size), where the file has it if that can be: half of a
  // small model's bytes, of which a text needs a few rows.
  TensorView<const float, 2> word;
  std::shared_ptr<const void> word_owner;
  // position[t] + token_type[0]: (max_positions, hidden_size)
  Tensor<float, 2> place;
  LayerNormParams norm;
};

// What a layer takes, (1, rows, hidden_size); an error ends the call.
using BeforeLayer =
    std::function<Status(std::size_t layer, TensorView<const float, 3> hidden)>;

struct BertOptions {
  // The hidden states that this layer takes: only those before it are run. Not
  // given: all run.
  std::optional<std::size_t> before_layer{};
  bool attn_weights = false;
  BeforeLayer before_each{};           // called before each layer that is run
  const Executor* executor = nullptr;  // null: Executor::default_executor()
};

struct BertResult {
  Tensor<float, 2> hidden;  // (rows, hidden_size)
  // Of each layer that was run, when asked for: (B, num_heads, L, L), L that of
  // the longest sequence; 0 where a sequence has no query or key.
  std::vector<Tensor<float, 4>> attn_weights;
};

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
                                  FileAccess access = FileAccess::mapped);

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

 private:
  BertEncoder(const BertConfig& config, BertEmbeddings embeddings,
              std::vector<BertLayer> layers)
      : config_(config),
        embeddings_(std::move(embeddings)),
        layers_(std::move(layers)) {}

  Status check(const RaggedTokens& ids, const BertOptions& options) const;

  BertConfig config_;
  BertEmbeddings embeddings_;
  std::vector<BertLayer> layers_;
};

}  // namespace headwise
