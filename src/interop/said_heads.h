// How many heads a file says that a layer has, where shapes do not tell:
//
//   an array num_heads beside the parameters   one integer
//   num_heads in the metadata of .safetensors  "8", or of each layer "[12, 3]"
//
// and num_kv_heads likewise.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "headwise/base/result.h"
#include "interop/param_file.h"

namespace headwise::inline HEADWISE_ABI {

inline constexpr std::string_view kNumHeads = "num_heads";
inline constexpr std::string_view kNumKvHeads = "num_kv_heads";

struct SaidHeads {
  std::optional<std::size_t> num_heads{};
  std::optional<std::size_t> num_kv_heads{};
};

// Of the layer with this number. Errors: bad_data, which begins with
// `operation`, for an array or a text of another form and for a list without
// that layer; those of reading the array.
Result<SaidHeads> said_heads(std::string_view operation, const ParamFile& file,
                             std::size_t layer);

}  // namespace headwise::inline HEADWISE_ABI
