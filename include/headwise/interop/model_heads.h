// The numbers of heads in a model's config.json, for layouts whose shapes do
// not contain them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "headwise/base/result.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct ModelHeads {
  std::optional<std::size_t> num_heads{};
  std::optional<std::size_t> num_kv_heads{};
  // Why there is no num_heads: "its folder has no config.json".
  std::optional<Error> why_not{};
  // Whether a config.json is there and cannot be read.
  bool damaged = false;
};

// Reads config.json in the folder of `file`, or in `file` if that is a folder:
// num_attention_heads or n_heads, and num_key_value_heads.
ModelHeads read_model_heads(const std::string& file);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
