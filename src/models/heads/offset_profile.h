// Attention by offset: how far a head attends by position alone. With the
// attention weights w[i,j] of a head in one text, over the queries i that see
// the key i + o:
//
//   covered[o] = (number of these queries) / (number of queries)
//   excess[o]  = mean of w[i,i+o] - mean of 1 / (number of keys that i sees)
//
// for the offsets o from -32 to 32. Neither depends on how long the text is.
// A head is positional if its excess is the same in every text. For the text t,
// with the mean of the excess over all other texts that cover the offset:
//
//   score[t] = sum over o of covered[t,o] *
//              min(max(excess[t,o], 0), max(mean of the others[o], 0))
//
// This is the attention that goes, beyond what equal attention would give, to
// offsets where it also goes in the other texts. It is 0 for equal attention
// and nearly 1 for a head that always attends to the previous token.
//
// Example:
//   std::vector<OffsetProfile> of_head;  // one per text
//   std::vector<double> scores = positional_scores(of_head);
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

inline constexpr std::size_t kMostOffset = 32;

// One head in one text; index o + kMostOffset.
struct OffsetProfile {
  std::array<float, 2 * kMostOffset + 1> covered{};  // 0 to 1
  std::array<float, 2 * kMostOffset + 1> excess{};   // -1 to 1
};

// For each head. query (1, L, Hq, D), key (1, L, Hkv, D); `causal`: whether a
// query sees only itself and the keys before it. Errors: those of attention().
Result<std::vector<OffsetProfile>> offset_profiles(
    TensorView<const float, 4> query, TensorView<const float, 4> key,
    bool causal, const AttentionOptions& options);

// For each text, from the profiles of one head. A text without tokens, whose
// profile covers nothing, and one with NaN have the score NaN and do not count
// as others; all scores are NaN if fewer than two texts are left.
std::vector<double> positional_scores(std::span<const OffsetProfile> texts);

}  // namespace headwise::inline HEADWISE_ABI
