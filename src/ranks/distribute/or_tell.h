// Calls that ranks make together, or a process alone: a null group.
#pragma once

#include "base/out_of_memory.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"

namespace headwise::inline HEADWISE_ABI {

// What `work` returns: a Status or a Result. The others are told only of
// out_of_memory, for which one rank is alone: they find every other error
// themselves.
template <class Work>
auto or_tell(Communicator* group, const Work& work) -> decltype(work()) {
  auto done = catching_out_of_memory(work);
  if (group != nullptr && !done &&
      done.error().code() == ErrorCode::out_of_memory) {
    group->abort(done.error());
  }
  return done;
}

inline Status busy_with(Communicator* group, FunctionRef<Status()> work) {
  return group == nullptr ? work() : group->busy_with(work);
}

}  // namespace headwise::inline HEADWISE_ABI
