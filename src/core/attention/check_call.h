// Whether the tensors of a call fit what it was planned for. Allocates nothing
// where they do.
//
// Errors: shape_mismatch; invalid_argument for a tensor of another type, for
// one that the options do not ask for, for one that they ask for and that is
// missing, and for an output that shares memory with another tensor; of a
// ragged batch, whose offsets may have changed, those of Offsets::check, and
// out_of_range for a sequence longer than planned.
#pragma once

#include <cstddef>
#include <string_view>

#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
#include "headwise/base/dtype.h"
#include "headwise/base/result.h"

namespace headwise::inline HEADWISE_ABI {

// The sizes of a call. Errors: shape_mismatch.
Result<AttentionShape> attention_shape(const CallTensors& tensors);

// The call has 16-bit tensors or those of `widest`, which only the reference
// sets.
Status check_call(std::string_view operation, const AttentionSpec& spec,
                  const CallTensors& tensors, DType widest = DType::float32);

// Whether no sequence is longer than those of `shape`. Errors: out_of_range.
Status check_longest(std::string_view operation, const AttentionShape& shape,
                     const Offsets& offsets);

// check_call() of a backward call. Errors: also invalid_argument for statistics
// and for a d_alibi of a part of the keys without its state.
Status check_backward(const AttentionSpec& spec, const CallTensors& tensors,
                      DType widest = DType::float32);
// The spec of a backward call, once its tensors are found to fit it. Errors:
// those of AttentionSpec::create() too.
Result<AttentionSpec> backward_spec(const CallTensors& tensors,
                                    const AttentionOptions& options,
                                    const OperationOptions& operation_options,
                                    DType widest = DType::float32);

}  // namespace headwise::inline HEADWISE_ABI

// headwise::io calls it, too.
#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// The same over a cache: key and value are appended to it and were checked
// already.
Status check_cached_call(std::string_view operation, const AttentionSpec& spec,
                         const CallTensors& tensors);

// The tokens that a rank has of a call's.
struct OwnTokens {
  std::size_t queries;
  std::size_t keys;
};

// What a rank passes to a call of all ranks: its rows of the tensors,
// (1, queries, ..) and (1, keys, ..), which it may leave out if it has none,
// and the gradients of the options, which are whole. Errors: shape_mismatch;
// invalid_argument for the gradient of an option that the call does not have.
Status check_own_tensors(std::string_view operation, const AttentionSpec& spec,
                         const OwnTokens& own, const CallTensors& tensors);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
