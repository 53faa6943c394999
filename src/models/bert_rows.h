// What the encoder's forward passes, that of inference and that of training,
// have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headwise/models/bert_encoder.h"

namespace headwise::inline HEADWISE_ABI {

// Where each sequence's rows begin, and where the last one's end.
std::vector<std::int64_t> offsets_of(const RaggedTokens& ids);

// (1, rows, E) -> (rows, E)
template <Viewable X>
requires(ViewOf<X>::rank() == 3) auto rows_of(X&& x) {
  const ViewOf<X> view(x);
  return TensorView(view.data(), {view.extent(1), view.extent(2)});
}

// hidden = word + place, before the norm.
void embed(const RaggedTokens& ids, std::span<const std::int64_t> offsets,
           const BertEmbeddings& embeddings, TensorView<float, 3> hidden,
           const Executor& executor);

// No view: none.
TensorView<const float, 1> gates_of(const BertOptions& options,
                                    std::size_t layer);

}  // namespace headwise::inline HEADWISE_ABI
