// The attention layers of a file in the layout of another library (layouts.h).
//
// Elements keep their type and are moved, never computed: converting there and
// back gives the same bits. Tensors that belong to no attention layer are
// carried over as they are, and so is the metadata of a .safetensors.
//
// Errors: those of the readers and of find_layout(). Of the options, with the
// argument's name: invalid_argument for what no file can have, or for what is
// missing; out_of_range for a layer that is not there; shape_mismatch for heads
// that do not fit the shapes. bad_data if two tensors would have one name.
//
// Example:
//   Status s = convert_params("model.safetensors", "layer5.npz",
//                             {.to = "keras", .layer = 5, .num_heads = 12});
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/layouts.h"
#include "headwise/interop/npz.h"
#include "headwise/interop/safetensors.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct ConvertOptions {
  std::string to{};    // the name of a layout
  std::string from{};  // likewise; empty: the one that fits
  // Before the names that are written; one that the layout has. Not given: that
  // of the file, if the layout stays the same; else the one that other tensors
  // of the file begin with; else the layout's first.
  std::optional<std::string> prefix{};
  std::optional<std::size_t> layer{};     // only this one; not given: all
  std::optional<std::size_t> as_layer{};  // the number it gets
  // Query heads, where the layout's shapes need them and neither the file nor
  // the config.json next to it gives them. An error if they give another.
  std::optional<std::size_t> num_heads{};
  bool attention_only = false;  // leave out tensors of no attention layer
};

// Converted layers, ready to be written.
struct ConvertedParams {
  LayoutMatch from;
  std::vector<std::size_t> layers{};  // the numbers of those that are converted
  NamedArrays tensors{};              // of these layers, by their new names
  std::vector<std::string> other_names{};  // tensors of no attention layer
  // Those tensors; none with attention_only.
  std::map<std::string, SafetensorsTensor> others{};
  SafetensorsMetadata metadata{};
  std::shared_ptr<const void> source{};  // what the tensors look into
};

// Reads the file whole, so that it may be written to. `path` as
// inspect_params() takes it.
Result<ConvertedParams> convert_params(const std::string& path,
                                       const ConvertOptions& options);

// A .safetensors or a .npz, by the ending of `path`; a .npz has no metadata.
// The file is replaced whole or not at all. Errors: those of write_npz() and
// write_safetensors(); invalid_argument for another ending.
Status write_params(const std::string& path, const ConvertedParams& params);

// Both in one call.
Status convert_params(const std::string& from, const std::string& to,
                      const ConvertOptions& options);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
