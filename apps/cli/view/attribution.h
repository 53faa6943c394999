// How much heads and tokens matter to a model that reads a text, by a measure
// of --attribution.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attribution_flags.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/heads/norm_statistics.h"
#include "viewed_heads.h"

namespace headwise::cli {

// What gradients are of: the logit of a label or of a token, or the length of
// the embedding.
struct GradientOf {
  std::optional<std::string> label{};
  std::optional<std::string> token{};
  std::size_t output_token = 0;  // that `token` comes after
  double value = 0;
};

struct HeadAttribution {
  std::size_t layer = 0;
  std::size_t head = 0;
  std::vector<double> numbers;  // as Attribution::columns
  std::vector<double> keys;     // a number of each key; may be empty
};

struct Attribution {
  std::string name;
  // Of each head: what its numbers are called, and those of its keys.
  std::vector<std::string> columns;
  std::string key_column;
  std::vector<HeadAttribution> heads;
  // Of the input tokens, from one output token; empty unless asked for.
  std::vector<double> tokens;
  std::size_t output_token = 0;
  std::optional<GradientOf> target;  // of gradients
};

// Norms come from the pass that computes the statistics: an attribution without
// heads.
Attribution attribution_by_norms();
// Adds the heads of a layer; norms (1, Hq, Lkv) of its keys.
void add_norms(const NumberedLayer& layer, TensorView<const float, 3> norms,
               const NormStatistics& done, Attribution& attribution);

// By any other measure. Errors: those of the library, with the names of the
// options.
Result<Attribution> compute_attribution(const AttributionFlags& flags,
                                        const ViewedHeads& heads);

}  // namespace headwise::cli
