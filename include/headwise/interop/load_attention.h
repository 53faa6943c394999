// A layer of multi-head attention from a file of parameters, in one call.
//
// The file is one that params.h reads: a .safetensors, its index, a .npz or a
// folder of .npy files or of a model, in any layout of layouts.h. Sizes come
// from the shapes. Biases and w_o.weight may be missing: the layer then has no
// bias, or no output projection. A file that has w_score.weight and no
// w_o.weight may also lack w_v.weight: the values are then used without a
// projection.
//
// A file with q_norm.weight and k_norm.weight normalises queries and keys.
// Which norm it is comes from the options or from the layout; no other file
// says it.
//
// The number of heads comes from the options, from the shapes, from the file
// (num_heads next to the parameters) or from the config.json next to it.
//
// Errors: those of read_layer_params(). invalid_argument, with the path of the
// option as the argument, for a file of several layers if `layer` is not given,
// and if nothing says how many heads there are or which norm. shape_mismatch
// for a number of heads that differs from the file's. bad_data for parameters
// that do not form a layer.
//   load_attention: m.npz: num_heads is not given, expected a number: the file
//   does not say how many heads the layer has
//
// Example:
//   MultiHeadAttention layer =
//       load_attention("model.safetensors", {.layer = 3}).value();
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "headwise/base/result.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/steps/embedding.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct LoadAttentionOptions {
  std::optional<std::size_t> layer{};  // not given: the only one
  std::string layout{};  // a name of layouts.h; empty: the one that fits
  // That of the names, or its beginning; not given: the one that fits.
  std::optional<std::string> prefix{};
  // Must agree with the file if it has them.
  std::optional<std::size_t> num_heads{};
  std::optional<std::size_t> num_kv_heads{};
  // Without num_kv_heads, derive it from the rows of w_k and the query head
  // size instead of using num_heads.
  bool num_kv_heads_from_shapes = false;
  // Used as num_heads if nothing else gives it.
  std::optional<std::size_t> default_num_heads{};
  // For a layer without w_v and w_o: the size of the values.
  std::optional<std::size_t> vdim{};
  // The norm of queries and keys, whose `bias` the file says. It is an error if
  // the file has no parameters for it.
  std::optional<QkNorm> qk_norm{};
  // As the layer's configuration; files do not say it.
  bool add_zero_attn = false;
};

// An embedding.weight in the file is ignored.
Result<MultiHeadAttention> load_attention(
    const std::string& path, const LoadAttentionOptions& options = {});

struct EmbeddedAttention {
  Embedding embedding;
  MultiHeadAttention layer;
};

// The layer and the embedding.weight of the file, which must have one; vdim is
// its embed_dim. Errors: as above.
Result<EmbeddedAttention> load_embedded_attention(
    const std::string& path, const LoadAttentionOptions& options = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
