// The end of a call that all ranks make.
#pragma once

#include "base/out_of_memory.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"

namespace headwise::inline HEADWISE_ABI {

// What `work` returns, or out_of_memory when it ran out. After an error the
// other ranks are told, for they may be waiting for this one.
template <class Work>
Status or_abort(Communicator& group, const Work& work) {
  Status status = catching_out_of_memory(work);
  if (!status) {
    group.abort(status.error());
  }
  return status;
}

}  // namespace headwise::inline HEADWISE_ABI
