// What `headwise inspect` finds out about a file of parameters.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/layouts.h"
#include "interop/param_file.h"

namespace headwise::cli {

struct InspectedFile {
  std::string path;
  std::size_t bytes = 0;
  std::string sha256;
};

// An attention layer.
struct InspectedLayer {
  std::size_t number = 0;
  LayerShapes shapes;  // with the heads, if anything says them
  // "shapes", "file" or "config.json"; empty: nothing says them.
  std::string heads_from;
  std::string why_no_heads;
};

struct Inspection {
  std::vector<InspectedFile> files;
  SafetensorsMetadata metadata;
  ParamEntries tensors;
  std::vector<std::string> file_of;  // of each tensor, in their order
  std::optional<LayoutMatch> layout;
  std::string why_no_layout;
  std::vector<InspectedLayer> layers;
  std::size_t parameters = 0;  // elements of floating-point tensors
  std::size_t attention_parameters = 0;
  std::size_t tensor_bytes = 0;
};

// `path` as find_params() takes it, `layout_of` empty or the name of a layout.
// A file that fits no layout is no error.
Result<Inspection> inspect(const std::string& path,
                           const std::string& layout_of);

}  // namespace headwise::cli
