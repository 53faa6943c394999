// What a file of parameters holds: its tensors, its attention layers and the
// library whose layout they have (layouts.h).
//
// Example:
//   Result<ParamInspection> model = inspect_params("model.safetensors");
//   model->layout->layout->name;      // "bert"
//   model->layers[0].shapes.num_heads;  // 12, if it is known
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/dtype.h"
#include "headwise/base/result.h"
#include "headwise/interop/layouts.h"
#include "headwise/interop/safetensors.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// What a file says about a tensor.
struct ParamEntry {
  DType dtype = DType::float32;
  std::vector<std::size_t> shape;
  std::size_t bytes = 0;
};
using ParamEntries = std::map<std::string, ParamEntry>;

struct InspectedFile {
  std::string path;
  std::size_t bytes = 0;
  std::string sha256;  // empty for a pipe, whose bytes are read once
};

// An attention layer.
struct InspectedLayer {
  std::size_t number = 0;
  LayerShapes shapes;  // with the numbers of heads, if they are known
  // "shapes", "file" or "config.json"; empty: they are not known.
  std::string heads_from;
  std::optional<Error> why_no_heads;
};

struct ParamInspection {
  std::vector<InspectedFile> files;
  SafetensorsMetadata metadata;
  ParamEntries tensors;
  std::vector<std::string> file_of;  // the file of each tensor, in their order
  std::vector<std::string> skipped;  // entries of an .npz that are no arrays
  std::optional<LayoutMatch> layout;
  std::optional<Error> why_no_layout;
  std::vector<InspectedLayer> layers;
  std::size_t parameters = 0;  // elements of floating-point tensors
  std::size_t attention_parameters = 0;
  std::size_t tensor_bytes = 0;
};

// `path`: a .safetensors, a .safetensors.index.json, a .npz, a .npy, or a
// folder with one of a model or with NAME.npy files. `layout`: the name of the
// layout it must have; empty: the one that fits. `prefix`: that of the names,
// or its beginning; not given: the one that fits. Tensors that fit no layout
// are not an error: why_no_layout gives the reason. Errors: those of the
// readers (npy.h, npz.h, safetensors.h); bad_data for a
// file of another kind.
Result<ParamInspection> inspect_params(
    const std::string& path, std::string_view layout = "",
    std::optional<std::string_view> prefix = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
