// The heads that a model's config.json says, for the layouts whose shapes do
// not.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace headwise::cli {

struct ModelHeads {
  std::optional<std::size_t> num_heads{};
  std::optional<std::size_t> num_kv_heads{};
  // Why there is no num_heads: "there is no config.json next to it".
  std::string why_not{};
};

// From the config.json in the folder of `file`, or in `file` where that is a
// folder: num_attention_heads or n_heads, and num_key_value_heads.
ModelHeads read_model_heads(const std::string& file);

}  // namespace headwise::cli
