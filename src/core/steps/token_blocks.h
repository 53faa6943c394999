// The blocks of tokens over which the gradients of parameters are summed: 128
// of one sequence, aligned at its token 0, sequence by sequence.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "headwise/base/tensor_view.h"

namespace headwise::inline HEADWISE_ABI {

inline constexpr std::size_t kTokenBlock = 128;

struct TokenBlock {
  std::size_t b;  // on the batch axis
  std::size_t first;
  std::size_t count;
};

// Calls body(block) for each one, in order. `offsets` (sequences + 1): where
// the sequences of a ragged batch begin in its one row; no view: each of the B
// rows of L tokens is a sequence.
template <class Body>
void for_each_token_block(std::size_t B, std::size_t L,
                          TensorView<const std::int64_t, 1> offsets,
                          const Body& body) {
  const bool ragged = offsets.data() != nullptr;
  // Without tokens there may be any number of rows.
  const std::size_t sequences = ragged ? offsets.extent(0) - 1 : L == 0 ? 0 : B;
  for (std::size_t n = 0; n < sequences; ++n) {
    const std::size_t begin = ragged ? static_cast<std::size_t>(offsets(n)) : 0;
    const std::size_t end =
        ragged ? static_cast<std::size_t>(offsets(n + 1)) : L;
    for (std::size_t first = begin; first < end; first += kTokenBlock) {
      body(TokenBlock{ragged ? 0 : n, first,
                      std::min(kTokenBlock, end - first)});
    }
  }
}

}  // namespace headwise::inline HEADWISE_ABI
