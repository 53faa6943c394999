// What pictures and JSON of heads are made of: each head's numbers and its map.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "inspect/view_head.h"
#include "seen_heads.h"

namespace headwise::cli {

struct HeadName {
  std::size_t layer = 0;
  std::size_t head = 0;
  bool operator==(const HeadName&) const = default;
};

// "0.3" -> layer 0, head 3. Errors: invalid_argument.
Result<HeadName> parse_head(const std::string& text);

struct DrawnHead {
  HeadName name;
  std::size_t kv_head = 0;
  PooledRows pooled;
  // The largest attention weight of each cell, (map_size(Lq), map_size(Lkv));
  // NaN: no pair of the cell may attend.
  Tensor<float, 2> map;
};

// One head whole: attention weights and who may attend, (1, Lq, Lkv).
struct WholeHead {
  Tensor<float, 3> attn_weights;
  Tensor<bool, 3> allowed;
};

struct DrawnHeads {
  std::vector<DrawnHead> heads;      // by layer, then by head
  std::optional<WholeHead> whole{};  // of the head that was asked for
};

// `whole`: the head to keep whole, where one is. Errors: as ViewPage's;
// out_of_range for a head that is not there; unsupported for one of more than
// kMostMapLength queries or keys.
Result<DrawnHeads> compute_heads(const SeenHeads& heads, std::size_t sequence,
                                 const std::optional<HeadName>& whole);

}  // namespace headwise::cli
