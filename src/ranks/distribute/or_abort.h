// The end of a call that all ranks make.
#pragma once

#include "base/out_of_memory.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"

namespace headwise::inline HEADWISE_ABI {

// What `work` returns, a Status or a Result, or out_of_memory when it ran out.
// After an error the other ranks are told, for they may be waiting for this
// one.
template <class Work>
auto or_abort(Communicator& group, const Work& work) -> decltype(work()) {
  auto done = catching_out_of_memory(work);
  if (!done) {
    group.abort(done.error());
  }
  return done;
}

}  // namespace headwise::inline HEADWISE_ABI
