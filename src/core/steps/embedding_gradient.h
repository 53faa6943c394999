// The gradient of some rows of an embedding's table.
#pragma once

#include <cstdint>

#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_view.h"
#include "headwise/steps/tokens.h"
#include "steps/row_range.h"

// headwise::io calls it, too.
#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// (rows.count, embed_dim), from ids (B, L) and d_embedded (B, L, embed_dim),
// which were checked. Errors: out_of_memory.
Result<Tensor<float, 2>> embedding_gradient(
    TensorView<const TokenId, 2> ids, TensorView<const float, 3> d_embedded,
    RowRange rows, TensorView<const std::int64_t, 1> offsets);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
