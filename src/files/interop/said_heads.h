// The number of heads of a layer according to its file, if shapes do not say
// it:
//
//   an array num_heads next to the parameters  one integer
//   num_heads in the metadata of .safetensors  "8", or per layer "[12, 3]"
//
// and the same for num_kv_heads.
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
