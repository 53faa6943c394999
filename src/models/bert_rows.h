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
template <class T>
TensorView<T, 2> rows_of(TensorView<T, 3> x) {
  return {x.data(), {x.extent(1), x.extent(2)}};
}

// hidden = word + place, before the norm.
void embed(const RaggedTokens& ids, std::span<const std::int64_t> offsets,
           const BertEmbeddings& embeddings, TensorView<float, 3> hidden,
           const Executor& executor);

// No view: none.
TensorView<const float, 1> gates_of(const BertOptions& options,
                                    std::size_t layer);

}  // namespace headwise::inline HEADWISE_ABI
