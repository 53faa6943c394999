// The jobs that are built in: what `headwise explain --example NAME` runs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/steps/tokens.h"

namespace headwise::cli {

// Vectors in place of tokens: query (B, Lq, query_dim), key (B, Lkv, kdim),
// value (B, Lkv, vdim).
struct Vectors {
  Tensor<float, 3> query;
  Tensor<float, 3> key;
  Tensor<float, 3> value;
};

struct Example {
  std::string_view name;
  std::string_view about;  // one line of the help
  std::size_t embed_dim;
  std::size_t num_heads;
  std::string_view mask_kind;
  bool batched = true;
  bool bias = true;
  bool out_proj = true;
  RaggedTokens tokens{};                 // the keys and values ...
  std::optional<RaggedTokens> target{};  // ... and the queries, if others
  // Vectors: the files NAME_query.npy, ... of apps/cli/examples.
  bool vectors = false;
  std::vector<std::int64_t> key_lengths{};
};

std::span<const Example> examples();
// The vectors of an example that has them.
Result<Vectors> vectors_of(const Example& example);

}  // namespace headwise::cli
