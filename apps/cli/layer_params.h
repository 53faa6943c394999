// A layer and its embedding from files of parameters.
#pragma once

#include <optional>
#include <string>

#include "headwise/base/result.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/steps/embedding.h"

namespace headwise::cli {

struct LayerFromFiles {
  MultiHeadAttention layer;
  std::optional<Embedding> embedding;  // only when it was asked for
};

// `path`: a folder of NAME.npy, or a .npz. Sizes come from the shapes; a
// missing bias is no bias, a missing w_o.weight no output projection.
Result<LayerFromFiles> read_layer(const std::string& path,
                                  std::size_t num_heads,
                                  std::optional<std::size_t> num_kv_heads,
                                  bool with_embedding);

}  // namespace headwise::cli
