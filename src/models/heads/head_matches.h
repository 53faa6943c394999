// Which head of one model does what a head of another does: heads matched by
// the similarity of their attention maps, such as map_overlaps() averaged over
// texts.
//
// Example:
//   HeadMatches matches = match_heads(similarity, heads_a, heads_b);
//   if (matches.partners[0]) heads_b[*matches.partners[0]];
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "headwise/base/tensor_view.h"
#include "headwise/module/head_hooks.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// For each head of a model, heads of the other by their index.
struct HeadMatches {
  // One to one, over all heads of all layers, with the largest sum of
  // similarities (heads/assignment.h). None for the heads that are left over
  // where the other model has fewer.
  std::vector<std::optional<std::size_t>> partners;
  // The most similar head; several heads may share one. None if the other model
  // has no heads.
  std::vector<std::optional<std::size_t>> nearest;
};

// similarity (heads of a, heads of b), finite. Similarities that differ by less
// than 1e-9 count as equal; among equals the head with the same layer and
// number comes first.
HeadMatches match_heads(TensorView<const double, 2> similarity,
                        std::span<const HeadId> a, std::span<const HeadId> b);

}  // namespace headwise::inline HEADWISE_ABI
