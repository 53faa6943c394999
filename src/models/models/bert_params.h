// The parameters of a BERT-family model, read from its files by the names of
// its family.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/models/bert_encoder.h"
#include "headwise/steps/embedding.h"
#include "headwise/steps/layer_norm.h"

namespace headwise::inline HEADWISE_ABI {

// The parameters of the embeddings as the file has them.
struct BertTables {
  Embedding word;                   // (vocab_size, hidden_size)
  Embedding position;               // (max_positions, hidden_size)
  std::optional<Embedding> type{};  // (type_vocab_size, hidden_size)
};

struct BertEmbeddings {
  // (vocab_size, hidden_size), in the file's own bytes if possible: half of a
  // small model's bytes, of which a text needs only a few rows.
  TensorView<const float, 2> word;
  std::shared_ptr<const void> word_owner;
  // For the token types 0 and 1, those that the model has (without types, only
  // 0): position[t] + token_type[type], (max_positions, hidden_size).
  std::vector<Tensor<float, 2>> places;
  LayerNormParams norm;
  // For training; `word` is then one of them.
  std::optional<BertTables> tables{};
};

struct BertParams {
  BertConfig config;  // with the heads that the file says were kept
  BertEmbeddings embeddings;
  std::vector<BertLayer> layers;

  bool is_trainable() const { return embeddings.tables.has_value(); }
};

struct BertEncoder::State : BertParams {};

Result<BertParams> read_bert_params(const std::string& folder,
                                    const BertConfig& config,
                                    const BertAccess& access);

// BertEmbeddings::places of a position table and a table of token types;
// `types` has no rows if the model has none. Errors: out_of_memory.
Result<std::vector<Tensor<float, 2>>> create_places(
    TensorView<const float, 2> position, TensorView<const float, 2> types);

// Embeddings that look up in `tables`. Errors: out_of_memory.
Status set_tables(BertEmbeddings& embeddings, BertTables tables);

}  // namespace headwise::inline HEADWISE_ABI
