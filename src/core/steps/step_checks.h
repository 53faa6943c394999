// Checks that the single steps share. Each takes a few comparisons per call,
// none per element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/added_keys.h"
#include "headwise/steps/head_groups.h"
#include "headwise/steps/shape.h"

namespace headwise::inline HEADWISE_ABI {

// Errors: shape_mismatch unless `given` has the extents of the scores.
Status check_like_scores(std::string_view operation, std::string_view argument,
                         const Extents<4>& given, const Extents<4>& scores);

// The axes of a tensor over all pairs in messages: with the columns of added
// keys, and of a mean over the heads.
std::string_view pair_axes(const BoundAddedKeys& added, bool mean = false);

// For what was bound to the sizes of a call: a mask, slopes, dropout. Errors:
// shape_mismatch unless those were the sizes of the scores.
Status check_bound_to_scores(std::string_view operation,
                             std::string_view argument,
                             const AttentionShape& bound,
                             const Extents<4>& scores);

// Whether keys or values (B, Lkv, Hkv, D) fit B sequences, `Hq` query heads and
// features of size D. `axes` names those extents. Errors: shape_mismatch; those
// of HeadGroups::check; invalid_argument for query heads that are not a
// multiple of the key heads.
Status check_grouped_heads(std::string_view operation,
                           std::string_view argument, const GroupedHeads& given,
                           std::string_view axes, const Extents<4>& expected,
                           std::size_t Hq);

// Whether `offsets`, where they are given, cut the one row of L tokens into
// sequences. Errors: invalid_argument unless B is 1; those of Offsets::check.
Status check_token_offsets(std::string_view operation, std::size_t B,
                           std::size_t L,
                           TensorView<const std::int64_t, 1> offsets);

}  // namespace headwise::inline HEADWISE_ABI
