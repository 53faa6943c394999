// What a row without any key gives, as the options say (EmptyRow).
#pragma once

#include <cstddef>

#include "headwise/attention/spec.h"
#include "headwise/base/tensor_arg.h"

namespace headwise::inline HEADWISE_ABI {

// A row of the scores.
struct RowIndex {
  std::size_t b;
  std::size_t h;
  std::size_t i;
};

// What key j counts for in a uniform row: 1, or under dropout 1 / (1 - p) or
// nothing.
float uniform_share(const AttentionSpec& spec, const RowIndex& row,
                    std::size_t j);

// Feature c of the row's output; value is (B, Lkv, Hkv, Dv).
float empty_output(const AttentionSpec& spec, const RowIndex& row,
                   const TensorArg& value, std::size_t c);

// The row's attention weight of key j, before dropout or after it.
float empty_weight(const AttentionSpec& spec, const RowIndex& row,
                   std::size_t j, bool dropped);
// That of an added key, whose score is -inf then: a uniform row has none of it.
float empty_added_weight(const AttentionSpec& spec);

}  // namespace headwise::inline HEADWISE_ABI
