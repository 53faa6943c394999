// A head's mask as a page holds it: a range of keys for each query, and bits if
// the range has holes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "headwise/attention/spec.h"

namespace headwise::inline HEADWISE_ABI {

struct EncodedMask {
  std::string ranges;               // (queries, 2) int32: begin, end
  std::optional<std::string> bits;  // (queries, ceil(keys / 8)) bytes

  bool operator==(const EncodedMask&) const = default;
};

// For the first `queries` queries of sequence b. Throws std::bad_alloc.
EncodedMask encode_mask(const AttentionSpec& spec, std::size_t b, std::size_t h,
                        std::size_t queries);

// "causal & padding"; "none".
std::string mask_name(const AttentionSpec& spec);

// Whether query heads may have different masks.
bool masks_differ_by_head(const AttentionSpec& spec);

}  // namespace headwise::inline HEADWISE_ABI
