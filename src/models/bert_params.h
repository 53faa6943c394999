// The parameters of a BERT-family model, out of its files by the names of its
// family.
#pragma once

#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/models/bert_encoder.h"

namespace headwise {

struct BertParams {
  BertEmbeddings embeddings;
  std::vector<BertLayer> layers;
};

Result<BertParams> read_bert_params(const std::string& folder,
                                    const BertConfig& config,
                                    FileAccess access);

}  // namespace headwise
