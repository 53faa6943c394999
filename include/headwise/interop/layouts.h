// How other libraries lay out the parameters of attention in their files, as
// one table. A layout is a set of rows, without code: to support another one,
// add rows and a test.
//
//   headwise         w_q.weight (out, in), w_q.bias (out), ..
//   headwise-causal  layers.N.w_q.weight, ..: headwise train --task
//                    induction
//   torch-mha        torch.nn.MultiheadAttention: in_proj_weight (3E, E)
//   torch-mha-split  the same with kdim or vdim: q_proj_weight, ..
//   bert             encoder.layer.N.attention.self.query.weight, ..
//   distilbert       transformer.layer.N.attention.q_lin.weight, ..
//   d2l              W_q.weight (out, in): PyTorch, MXNet
//   d2l-dense        W_q/kernel (in, out): TensorFlow, JAX
//   keras            query/kernel (in, H, d), attention_output/kernel (H, d,
//                    out), arrays by the paths of the variables
//   flax             query/kernel (in, H, d), out/kernel (H, d, out); with
//                    normalize_qk query_ln/scale (d), key_ln/scale (d)
//
// A layout is detected from names and shapes. Elements are moved, never
// computed: a layer that is converted from a layout and back has the same bits,
// whatever its element type.
//
// Errors: bad_data if no layout fits, if more than one does, or if the given
// one does not; the message names the tensors. out_of_range for a layer that
// does not exist, invalid_argument for an unknown layout.
//   read: m.safetensors does not fit the layout bert: there is no
//   encoder.layer.0.attention.self.key.bias
//
// Example:
//   auto match = find_layout(shapes, {"read", "m.safetensors"}).value();
//   auto layer = take_layer(match, shapes, 5, read_array).value();
//   layer.params.at("w_q.weight");  // (out, in)
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "headwise/interop/file_subject.h"
#include "headwise/interop/npz.h"
#include "headwise/steps/norm_heads.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

enum class ParamForm {
  weight,        // (out, in), as here
  transposed,    // (in, out)
  head_outputs,  // (in, H, d), out = H * d
  head_inputs,   // (H, d, out), in = H * d
  bias,          // (out), as here; also the parameters of a norm
  head_bias,     // (H, d)
  added_key,     // (1, 1, features), of bias_k and bias_v
};

// One parameter of a layer in a file. If `parts` is more than 1, the tensor's
// output features are divided into this many equal parts, and the parameter is
// one of them, counted from 0.
struct LayoutRow {
  std::string_view name;   // in the file; {N} is the number of the layer
  std::string_view param;  // headwise's
  ParamForm form = ParamForm::weight;
  bool required = true;
  std::size_t part = 0;
  std::size_t parts = 1;
};

struct Layout {
  std::string_view name;
  std::span<const std::string_view> prefixes;  // of every name; the first is
                                               // the one that is written
  std::span<const LayoutRow> rows;
  // What q_norm.weight and k_norm.weight are of; no value: files do not say it.
  std::optional<QkNorm> qk_norm{};
};

std::span<const Layout> layouts();

using ShapesByName = std::map<std::string, std::vector<std::size_t>>;

// A file's tensors seen as layers of a layout.
struct LayoutMatch {
  const Layout* layout = nullptr;
  std::string prefix;               // with {N} in place of the layer number
  std::vector<std::size_t> layers;  // their numbers; 0 where names have none
  FileSubject subject;              // what errors about them are about
};

// `wanted`: the name of a layout; empty: the one that fits. Other tensors than
// those of the layout are ignored.
//
// Names may follow a prefix: one that the layout knows or, if there are none
// behind those, the one behind which a complete layer is found. Where names of
// the layout have no number, {N} in the prefix is the layer's:
// "encoder.layers.{N}.self_attn.". It is an error if there are several;
// `prefix`, which may be the beginning of one, chooses.
Result<LayoutMatch> find_layout(const ShapesByName& shapes,
                                const FileSubject& subject,
                                std::string_view wanted = "",
                                std::optional<std::string_view> prefix = {});

// What the shapes alone say about a layer.
struct LayerShapes {
  ShapesByName params;  // by headwise's names, in headwise's layout
  // If the shapes say it.
  std::optional<std::size_t> num_heads{};
  std::optional<std::size_t> num_kv_heads{};

  bool operator==(const LayerShapes&) const = default;
};

struct LayerParams {
  NamedArrays params;  // by headwise's names, in headwise's layout
  // If the shapes of the layout, or else the file, say it.
  std::optional<std::size_t> num_heads{};
  std::optional<std::size_t> num_kv_heads{};
  std::optional<QkNorm> qk_norm{};  // that of the layout
  std::size_t number = 0;           // of the layer in its file
};

// The parameters of the layer with this number. `read` returns a tensor by its
// name in the file; `shapes` are those that the match was found in. Errors:
// also those of `read`.
Result<LayerParams> take_layer(
    const LayoutMatch& match, const ShapesByName& shapes, std::size_t number,
    FunctionRef<Result<Array>(const std::string&)> read);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
