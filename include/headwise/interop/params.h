// The parameters of a layer in files: a folder with one NAME.npy a parameter
// (other files in it are passed over), a .npz, a .safetensors, or the
// .safetensors.index.json of several.
//
// Names: w_q.weight (out, in), w_q.bias (out), the same of w_k, w_v, w_o;
// w_score.weight (heads, hidden) of additive scoring; embedding.weight. Read as
// well: fc_q W_q for w_q, and so on for k, v and o; w_0 for w_o. Where W_q, W_k
// and w_v stand together without W_v and W_o, as d2l names those of its
// additive attention, w_v.weight (1, hidden) is w_score.weight, if that is
// known.
//
// A layer's file may also say how many heads the layer has: an array num_heads
// of one integer, and num_kv_heads where keys and values have others, or both
// as texts in the metadata of a .safetensors: "8", or of each layer "[12, 3]".
//
// Errors: io_error, bad_data and unsupported as npy.h, npz.h, safetensors.h and
// sharded_safetensors.h; bad_data too when a name is unknown (the message lists
// those accepted) or missing, when two names mean one parameter, and when an
// element is NaN or infinite (the message says where).
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

// By the names of headwise, whatever the file calls them.
Result<NamedArrays> read_params(const std::string& path,
                                const ParamNames& names);

// Which layer of a file to read.
struct LayerChoice {
  // No value: the only one; a file of several layers is then an error.
  std::optional<std::size_t> number = 0;
  std::string layout = {};  // a name of layouts.h; empty: the one that fits
};

// As read_params(), where a name of the file is known and no layout is chosen;
// otherwise the layer of the file's layout; with the heads that shapes or file
// say. Errors: those of layouts.h, too.
Result<LayerParams> read_layer_params(const std::string& path,
                                      const ParamNames& names,
                                      const LayerChoice& choice = {});

// headwise's name of a parameter by itself: "w_o.weight" of "fc_o.weight",
// "W_o.weight" or "w_0.weight"; another name is returned as it is.
std::string param_name(std::string_view name);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
