// The parameters of a layer in files: a folder with one NAME.npy per parameter
// (other files in it are ignored), a .npz, a .safetensors, or the
// .safetensors.index.json of several.
//
// Names: w_q.weight (out, in), w_q.bias (out), the same for w_k, w_v, w_o;
// w_score.weight (heads, hidden) for additive scoring; q_norm.weight and
// k_norm.weight of a norm of queries and keys, with .bias; bias_k and bias_v
// (features) of an added key; embedding.weight.
// Also accepted: fc_q and W_q for w_q, and so on for k, v and o; w_0 for w_o.
// In a file with W_q, W_k and w_v but without W_v and W_o, the names of d2l's
// additive attention, w_v.weight (1, hidden) is w_score.weight, if that name is
// allowed.
//
// Next to a layer there may be the tensors of other parts of a model, whose
// names have two or more dots, as convert_params() copies them: then every
// other name is ignored that does not begin as one of those above.
//
// A layer's file may also say how many heads the layer has: an array num_heads
// of one integer, and num_kv_heads if keys and values have a different number,
// or both as text in the metadata of a .safetensors: "8", or for each layer
// "[12, 3]".
//
// Errors: io_error, bad_data and unsupported as in npy.h, npz.h and
// safetensors.h; bad_data also if a name is unknown (the message
// lists the accepted names) or missing, if two names mean the same parameter,
// and if an element is NaN or infinite (the message says where).
//   read_params: layer/w_k.weight.npy is nan at (3, 4), expected finite numbers
//
// Example:
//   Result<NamedArrays> params = read_params(
//       "layer", {.required = {"w_q.weight", "w_k.weight", "w_v.weight"},
//                 .optional = {"w_q.bias", "w_k.bias", "w_v.bias"}});
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "headwise/interop/layouts.h"
#include "headwise/interop/npz.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Names as headwise writes them. A parameter in neither list is an error.
struct ParamNames {
  std::vector<std::string> required = {};
  std::vector<std::string> optional = {};
};

// By headwise's names, whatever the names in the file.
Result<NamedArrays> read_params(const std::string& path,
                                const ParamNames& names);

// Which layer of a file to read.
struct LayerChoice {
  // No value: the only layer; a file of several layers is then an error.
  std::optional<std::size_t> number = 0;
  std::string layout = {};  // a name of layouts.h; empty: the one that fits
  // That of the names, or its beginning; not given: the one that fits.
  std::optional<std::string> prefix = {};
};

// The same as read_params() if the file has a known name and no layout is
// chosen, nor a prefix; otherwise a layer in the file's layout. `path` may also
// be the folder of a model, with model.safetensors or its index. Includes the
// numbers of heads, if the shapes or the file have them. Errors: also those of
// layouts.h.
Result<LayerParams> read_layer_params(const std::string& path,
                                      const ParamNames& names,
                                      const LayerChoice& choice = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
