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
  std::optional<Embedding> embedding;  // with LayerWanted::with_embedding
};

// What the options say about the layer.
struct LayerWanted {
  // It is an error if the file says another number.
  std::optional<std::size_t> num_heads;
  std::optional<std::size_t> num_kv_heads;
  // If neither --num-heads nor the files say it.
  std::optional<std::size_t> otherwise_num_heads{};
  std::string scoring;              // as typed: dot, additive, empty
  std::size_t vdim = 0;             // of the values; with an embedding, its own
  std::optional<QkNorm> qk_norm{};  // as asked for
  bool add_zero_attn = false;
  bool with_embedding = false;
  LayerChoice choice{};  // without a number: the only layer, or else layer 0
};

// As load_attention(), with errors in terms of options. Errors:
// invalid_argument if neither the options nor the files say how many heads
// there are; all other errors are about the files.
Result<LayerFromFiles> read_layer(const std::string& path,
                                  const LayerWanted& wanted);

}  // namespace headwise::cli
