// The layers of a file in another layout, for `headwise convert`.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "convert_flags.h"
#include "headwise/base/result.h"
#include "headwise/interop/layouts.h"
#include "interop/param_file.h"

namespace headwise::cli {

struct Conversion {
  LayoutMatch from;
  std::vector<std::size_t> layers;  // their numbers in the file
  NamedArrays tensors;              // of these, by their new names
  std::vector<std::string> others;  // names of tensors of no attention layer
  std::optional<std::size_t> num_heads{};  // of the last layer, where known
};

// All layers of `file`, or that of --layer, laid out as --to says. The names of
// --to have the prefix of the file where it is the same layout, else the one
// that other tensors of the file begin with, else the layout's first; --prefix
// says another. Elements are moved, never computed.
//
// Errors: invalid_argument where the options ask for what cannot be; bad_data
// where the file has not what they need, or two tensors would have one name.
Result<Conversion> convert_layers(const ParamFile& file,
                                  const ConvertFlags& flags);

}  // namespace headwise::cli
