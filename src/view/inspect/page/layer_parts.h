// What a LayerHeads holds, which a ViewPage makes, too.
#pragma once

#include <cstddef>
#include <vector>

#include "headwise/inspect/layer_heads.h"
#include "inspect/page/view_layer.h"

namespace headwise::inline HEADWISE_ABI {

struct LayerHeads::Parts {
  ShownLayer layer;
  std::vector<std::size_t> numbers;  // empty: as in the tensors
};

}  // namespace headwise::inline HEADWISE_ABI
