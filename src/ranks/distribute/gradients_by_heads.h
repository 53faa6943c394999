// The gradients of a call, computed by heads: each rank receives all tokens of
// its heads and makes one call of attention_backward().
#pragma once

#include "distribute/call_by_heads.h"
#include "headwise/attention/call_tensors.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"

namespace headwise::inline HEADWISE_ABI {

// `own` and the gradients of query, key and value are of the rank's rows, the
// other gradients are whole. A rank may leave out gradients that others want.
// Of `gradients` nothing else is looked at. Errors: those of
// attention_backward(), rank_failure.
template <class T>
Status gradients_by_heads(Communicator& group, const CallByHeads& call,
                          const BackwardInputsOf<T>& own,
                          const CallTensors& gradients);

}  // namespace headwise::inline HEADWISE_ABI
