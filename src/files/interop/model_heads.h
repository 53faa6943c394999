// The numbers of heads in a model's config.json, for layouts whose shapes do
// not contain them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "headwise/base/result.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

struct ModelHeads {
  std::optional<std::size_t> num_heads{};
  std::optional<std::size_t> num_kv_heads{};
  // The features of a head: head_dim, or else hidden_size (dim in DistilBERT)
  // divided by the number of heads.
  std::optional<std::size_t> head_size{};
  // The heads that pruning removed from each layer, by their original numbers.
  std::map<std::size_t, std::set<std::size_t>> pruned{};
  // Why there is no num_heads: "its folder has no config.json".
  std::optional<Error> why_not{};
  // Whether a config.json is there and cannot be read.
  bool damaged = false;

  // How many heads of queries a layer with this many features of queries has,
  // by its number; empty if num_heads is. Without a record of pruning, a layer
  // with fewer features has fewer heads of the same size. Errors: bad_data if
  // the features are not those of the layer's heads.
  Result<std::optional<std::size_t>> heads_of_layer(
      std::size_t layer, std::size_t q_features) const;
};

// Reads config.json in the folder of `file`, or in `file` if that is a folder:
// num_attention_heads or n_heads, num_key_value_heads, head_dim, hidden_size or
// dim, and the heads in pruned_heads and headwise_pruned_heads.
ModelHeads read_model_heads(const std::string& file);

}  // namespace headwise::inline HEADWISE_ABI
