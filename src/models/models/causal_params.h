// The parameters of a causal model, drawn or read from its folder.
#pragma once

#include <string>
#include <vector>

#include "headwise/base/arithmetic.h"
#include "headwise/base/result.h"
#include "headwise/models/causal_model.h"
#include "headwise/models/vocabulary.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/steps/embedding.h"
#include "headwise/steps/layer_norm.h"
#include "headwise/steps/projection.h"

namespace headwise::inline HEADWISE_ABI {

struct CausalLayer {
  LayerNormParams norm;
  MultiHeadAttention attention;
};

struct CausalParams {
  CausalConfig config;  // with the heads that the file says were kept
  Vocabulary vocabulary;
  Embedding token;
  Embedding position;
  std::vector<CausalLayer> layers;
  LayerNormParams norm;
  Linear unembedding;
};

// Errors: those of CausalModel::create() and read().
Result<CausalParams> draw_causal_params(const CausalConfig& config,
                                        Vocabulary vocabulary, Seed seed,
                                        Arithmetic arithmetic);
Result<CausalParams> read_causal_params(const std::string& folder,
                                        Arithmetic arithmetic);

// config.json of the folder, and its text.
Result<CausalConfig> read_causal_config(const std::string& folder);
std::string causal_config_text(const CausalConfig& config);

// "layers.3.w_q"
std::string causal_name(std::size_t layer, std::string_view part);

}  // namespace headwise::inline HEADWISE_ABI
