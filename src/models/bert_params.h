// The parameters of a BERT-family model, out of its files by the names of its
// family.
#pragma once

#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/models/bert_encoder.h"

namespace headwise::inline HEADWISE_ABI {

struct BertParams {
  BertConfig config;  // with the heads that the file says were kept
  BertEmbeddings embeddings;
  std::vector<BertLayer> layers;
};

Result<BertParams> read_bert_params(const std::string& folder,
                                    const BertConfig& config,
                                    const BertAccess& access);

// place[t] += types[0]: a sentence alone is all of one type.
void add_to_each_row(TensorView<float, 2> place,
                     TensorView<const float, 2> types);

// Embeddings that look up in `tables`. Errors: out_of_memory.
Status set_tables(BertEmbeddings& embeddings, BertTables tables);

}  // namespace headwise::inline HEADWISE_ABI
