// A call of a layer by context, checked: the call of its operation, and what a
// rank has of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "distribute/checked_context.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/distribute/communicator.h"
#include "headwise/distribute/context_layer.h"

namespace headwise::inline HEADWISE_ABI {

struct CheckedLayer {
  ContextCall operation;
  CheckedContext context;

  const AttentionShape& shape() const { return context.spec.shape; }
  const Executor& executor() const { return *context.spec.executor; }
};

// Errors: invalid_argument for a layer without heads or with an open size, and
// for a call in an arithmetic that is not the layer's.
Status check_layer(std::string_view operation, const MultiHeadAttention& layer,
                   Arithmetic asked);

// Of a call of the layer's heads.
AttentionShape shape_of(const MultiHeadAttentionConfig& config, std::size_t B,
                        std::size_t Lq, std::size_t Lkv);

// The sizes of a layer, which all ranks must have alike; `more`: other numbers.
std::string digest_of_layer(const MultiHeadAttentionConfig& config,
                            std::uint64_t more);

// The errors of rotate_heads(), of all rows of a call.
Status check_rotated_rows(const Rotary& rotary, const AttentionShape& shape,
                          const QueryStart& query_start,
                          const HeadPositions& positions);

// All ranks call it. Errors, on every rank: those of a call that one rank finds
// alone, and invalid_argument for different layers.
Result<CheckedLayer> checked_layer(std::string_view operation,
                                   Communicator& group,
                                   const MultiHeadAttention& layer,
                                   const ContextLayerCall& call,
                                   const ContextLayerInputs& own,
                                   const Status& more);

// Where the rank's tokens are in their sequences, (1, rows).
struct OwnPositions {
  Tensor<std::int64_t, 2> queries;
  Tensor<std::int64_t, 2> keys;

  HeadPositions views() const { return {queries.view(), keys.view()}; }
};
// Errors: out_of_memory.
Result<OwnPositions> own_positions(const CheckedLayer& all, std::size_t rank,
                                   const HeadPositions& positions);

// The sizes of the rank's rows as of a call of their own.
AttentionShape own_shape(const CheckedLayer& all, std::size_t rank);

}  // namespace headwise::inline HEADWISE_ABI
