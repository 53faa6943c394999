// The options of a call on a part of another call, such as the queries and keys
// that one machine has. Its tensors are the parts of the whole call's tensors,
// and its rows have the bits of the whole call's rows. A part of the keys needs
// a key_part and a state, too (headwise/attention/state.h).
#pragma once

#include <string_view>

#include "headwise/attention/spec.h"
#include "headwise/base/result.h"
#include "headwise/steps/shape.h"
#include "steps/call_part.h"

// headwise::io calls these, too.
#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// The options, and the numbers that only they look at.
struct OptionsOfPart {
  AttentionOptions options;
  OperationOptions operation_options;
  PartNumbers numbers;
};

// Everything.
CallPart whole_call(const AttentionShape& whole);

// `whole` is the AttentionSpec's shape of the whole call, whose options were
// accepted. The part of a ragged batch is all rows of all sequences, or of one
// sequence, and then no longer ragged. query_start becomes a number even if it
// is bottom_right().
//
// Errors: unsupported for statistics, and for a keep_mask with columns of added
// keys in a ragged batch; out_of_memory.
Result<OptionsOfPart> options_of_part(const AttentionShape& whole,
                                      const AttentionOptions& options,
                                      const OperationOptions& operation_options,
                                      const CallPart& part,
                                      std::string_view operation = "attention");

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
