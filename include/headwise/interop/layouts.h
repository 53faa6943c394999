// How other libraries lay the parameters of attention out in their files: one
// table, a layout is rows of it and no code. To know one more is to add rows
// and a test.
//
//   headwise         w_q.weight (out, in), w_q.bias (out), ..
//   torch-mha        torch.nn.MultiheadAttention: in_proj_weight (3E, E)
//   torch-mha-split  the same with kdim or vdim: q_proj_weight, ..
//   bert             encoder.layer.N.attention.self.query.weight, ..
//   distilbert       transformer.layer.N.attention.q_lin.weight, ..
//   d2l              W_q.weight (out, in): PyTorch, MXNet
//   d2l-dense        W_q/kernel (in, out): TensorFlow, JAX
//   keras            query/kernel (in, H, d), attention_output/kernel (H, d,
//                    out), arrays by the paths of the variables
//   flax             query/kernel (in, H, d), out/kernel (H, d, out)
//
// A layout is found by names and shapes. Elements are moved, never computed: a
// layer that is taken out of a layout and put into it again has the same bits,
// whatever its element type.
//
// Errors: bad_data when no layout fits, or more than one, or the wanted one
// does not; the message says so tensor by tensor. unsupported for tensors that
// change what the layer computes and have no counterpart here. out_of_range for
// a layer that is not there, invalid_argument for a layout of no known name.
//   read: m.safetensors does not fit the layout bert: there is no
//   encoder.layer.0.attention.self.key.bias
//
// Example:
//   auto match = find_layout(shapes, "read: m.safetensors").value();
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
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

enum class ParamForm {
  weight,        // (out, in), as here
  transposed,    // (in, out)
  head_outputs,  // (in, H, d), out = H * d
  head_inputs,   // (H, d, out), in = H * d
  bias,          // (out), as here
  head_bias,     // (H, d)
};

// One parameter of a layer in a file. Where `parts` is more than 1, it is one
// of as many equal parts of the tensor's output features, the first being 0.
struct LayoutRow {
  std::string_view name;   // in the file; {N} is the number of the layer
  std::string_view param;  // headwise's
  ParamForm form = ParamForm::weight;
  bool required = true;
  std::size_t part = 0;
  std::size_t parts = 1;
};

// A tensor that may stand beside them and is not understood.
struct RefusedTensor {
  std::string_view name;
  std::string_view what;
};

struct Layout {
  std::string_view name;
  std::span<const std::string_view> prefixes;  // before every name; the first
                                               // is the one that is written
  std::span<const LayoutRow> rows;
  std::span<const RefusedTensor> refused;
};

std::span<const Layout> layouts();

using ShapesByName = std::map<std::string, std::vector<std::size_t>>;

// A file's tensors seen as layers of a layout.
struct LayoutMatch {
  const Layout* layout = nullptr;
  std::string prefix;
  std::vector<std::size_t> layers;  // their numbers; 0 where names have none
  FileSubject subject;              // what errors about them are about
};

// `wanted`: the name of a layout; empty: the one that fits. Tensors beside
// those of the layout are passed over.
Result<LayoutMatch> find_layout(const ShapesByName& shapes,
                                const FileSubject& subject,
                                std::string_view wanted = "");

// What the shapes alone say of a layer.
struct LayerShapes {
  ShapesByName params;  // by headwise's names, in headwise's layout
  // Where the shapes say it.
  std::optional<std::size_t> num_heads{};
  std::optional<std::size_t> num_kv_heads{};

  bool operator==(const LayerShapes&) const = default;
};

// Of the layer with this number; `shapes` are those that the match was found
// in.
Result<LayerShapes> layer_shapes(const LayoutMatch& match,
                                 const ShapesByName& shapes,
                                 std::size_t number);

struct LayerParams {
  NamedArrays params;  // by headwise's names, in headwise's layout
  // Where the shapes of the layout, or the file beside them, say it.
  std::optional<std::size_t> num_heads{};
  std::optional<std::size_t> num_kv_heads{};
};

// The parameters of the layer with this number, each as `read` gives it by its
// name in the file; `shapes` are those that the match was found in. Errors:
// those of `read`, too.
Result<LayerParams> take_layer(
    const LayoutMatch& match, const ShapesByName& shapes, std::size_t number,
    FunctionRef<Result<Array>(const std::string&)> read);

// The tensors of a layer in another layout, by their names in a file of it,
// behind `prefix` (by default the layout's first). What the layout asks for and
// the layer lacks is an error, as is what the layer has and the layout has no
// place for; `num_heads` must be given where the layout's shapes say it.
// Errors: invalid_argument.
Result<NamedArrays> lay_out(const LayerParams& layer, std::size_t number,
                            const Layout& layout,
                            std::optional<std::string_view> prefix = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
