// The heads of one layer, encoded for a page.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "inspect/page/view_head.h"
#include "inspect/page/view_layer.h"

namespace headwise::inline HEADWISE_ABI {

struct EncodedLayer {
  std::vector<EncodedHead> heads;
  std::vector<std::string> keys;  // by key head; empty without elements

  // The size of all blocks.
  std::size_t bytes() const;
};

// Encodes the heads on the executor's threads. Throws std::bad_alloc.
EncodedLayer encode(const ShownLayer& layer);

}  // namespace headwise::inline HEADWISE_ABI
