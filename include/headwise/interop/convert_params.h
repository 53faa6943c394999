// Converts the attention layers of a file to the layout of another library
// (layouts.h).
//
// Elements keep their type and are moved, never computed: converting there and
// back gives the same bits. Tensors outside attention layers are copied
// unchanged, and so is the metadata of a .safetensors.
//
// Errors: those of the readers and of find_layout(). For an option, with its
// name as the argument: invalid_argument for a value that no file can have, or
// that is missing; out_of_range for a layer that does not exist; shape_mismatch
// for heads that do not fit the shapes. bad_data if two tensors would have the
// same name.
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
  std::string from{};  // the same; empty: the one that fits
  // The prefix of the names in the file, or its beginning; not given: the one
  // that fits.
  std::optional<std::string> from_prefix{};
  // The prefix of the names in the output, one that the layout knows. Not
  // given: that of the file, if the layout stays the same; else the one that
  // other tensors of the file begin with; else the layout's first.
  std::optional<std::string> prefix{};
  std::optional<std::size_t> layer{};     // only this one; not given: all
  std::optional<std::size_t> as_layer{};  // its number in the output
  // Number of query heads, if the layout's shapes need it and neither the file
  // nor the config.json next to it has it. A different number there is an
  // error.
  std::optional<std::size_t> num_heads{};
  bool attention_only = false;  // leave out tensors outside attention layers
};

// Converted layers, ready to be written.
struct ConvertedParams {
  LayoutMatch from;
  std::vector<std::size_t> layers{};  // the numbers of the converted layers
  NamedArrays tensors{};              // of these layers, by their new names
  std::vector<std::string> other_names{};  // tensors outside attention layers
  // Those tensors; none with attention_only.
  std::map<std::string, SafetensorsTensor> others{};
  SafetensorsMetadata metadata{};
  std::shared_ptr<const void> source{};  // keeps the bytes of `others`
};

// Reads the whole file into memory, so that the same file may be written.
// `path` is as in inspect_params().
Result<ConvertedParams> convert_params(const std::string& path,
                                       const ConvertOptions& options);

// Writes a .safetensors or a .npz, depending on the extension of `path`; a .npz
// has no metadata. The file is replaced completely or not at all. Errors: those
// of write_npz() and write_safetensors(); invalid_argument for another
// extension.
Status write_params(const std::string& path, const ConvertedParams& params);

// Both in one call.
Status convert_params(const std::string& from, const std::string& to,
                      const ConvertOptions& options);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
