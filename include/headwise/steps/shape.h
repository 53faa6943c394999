// The sizes of one call of attention.
#pragma once

#include <cstddef>

namespace headwise {

struct AttentionShape {
  std::size_t B = 0;    // batch
  std::size_t Hq = 0;   // query heads
  std::size_t Hkv = 0;  // key and value heads; Hq is a multiple
  std::size_t Lq = 0;   // queries
  std::size_t Lkv = 0;  // keys
  std::size_t D = 0;    // head size of query and key
  std::size_t Dv = 0;   // head size of value

  // The key and value head that query head `h` reads.
  std::size_t kv_head(std::size_t h) const { return h / (Hq / Hkv); }
};

}  // namespace headwise
