// The queries and keys of one call of attention, rotated in place by their
// positions (steps/rotary.h): between the projections and the scores.
//
//   query  (B, Lq, Hq, D)    in and out
//   key    (B, Lkv, Hkv, D)  in and out
//
// By default a query is at its row plus query_start and a key at its row; in a
// ragged batch rows are counted in each sequence. Positions move the rotation
// alone: masks, ALiBi and dropout count rows.
//
// Example, and its backward pass:
//   Status s = rotate_heads(rotary, {q, k}, shape, options.query_start);
//   // attention(), attention_backward()
//   s = rotate_heads_back(rotary, {d_q, d_k}, shape, options.query_start);
#pragma once

#include <cstdint>

#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/executor.h"
#include "headwise/steps/query_start.h"
#include "headwise/steps/rotary.h"
#include "headwise/steps/shape.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct QueriesAndKeys {
  TensorView<float, 4> query;
  TensorView<float, 4> key;
};

// (B, Lq) and (B, Lkv), in a ragged batch (1, rows). No view: the default.
struct HeadPositions {
  TensorView<const std::int64_t, 2> query_positions{};
  TensorView<const std::int64_t, 2> key_positions{};
};

// Errors, before anything is rotated: those of Rotary::rotate(), about query,
// key, query_start, query_positions or key_positions; out_of_memory.
Status rotate_heads(const Rotary& rotary, const QueriesAndKeys& heads,
                    const AttentionShape& shape,
                    const QueryStart& query_start = {},
                    const HeadPositions& positions = {},
                    const Executor& executor = Executor::default_executor());
// The gradients of both, rotated back.
Status rotate_heads_back(
    const Rotary& rotary, const QueriesAndKeys& gradients,
    const AttentionShape& shape, const QueryStart& query_start = {},
    const HeadPositions& positions = {},
    const Executor& executor = Executor::default_executor());

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
