// A layer and its embedding from files of parameters.
#pragma once

#include <optional>
#include <string>

#include "headwise/base/result.h"
#include "headwise/interop/params.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/steps/embedding.h"

namespace headwise::cli {

struct LayerFromFiles {
  MultiHeadAttention layer;
  std::optional<Embedding> embedding;  // only when it was asked for
};

// What the files do not say of themselves, or must agree with.
struct LayerWanted {
  // An error where a file says another.
  std::optional<std::size_t> num_heads;
  std::optional<std::size_t> num_kv_heads;
  // Where neither --num-heads nor the files say it.
  std::optional<std::size_t> otherwise_num_heads{};
  std::string scoring;   // as typed: dot, additive, empty
  std::size_t vdim = 0;  // of the values; with an embedding, its own
  bool with_embedding = false;
  LayerChoice choice{};
};

// `path`: as read_layer_params() takes it. Sizes come from the shapes; a
// missing bias is no bias, a missing w_o.weight no output projection; where
// there is a w_score.weight and no w_o.weight, a missing w_v.weight leaves the
// values as they are. An embedding.weight that was not asked for is left out.
// The heads are those of --num-heads, of the file or of the config.json beside
// it. Errors: invalid_argument where none of them says how many there are;
// every other one is about the files.
Result<LayerFromFiles> read_layer(const std::string& path,
                                  const LayerWanted& wanted);

}  // namespace headwise::cli
