// Long work of one rank, of which the others learn that it goes on.
#pragma once

#include <optional>

#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"

namespace headwise::inline HEADWISE_ABI {

// What `work` returns, a Result; an error of the group otherwise.
template <class Work>
auto work_visibly(Communicator& group, const Work& work) -> decltype(work()) {
  std::optional<decltype(work())> done;
  HEADWISE_TRY(group.busy_with([&] {
    done = work();
    return ok();
  }));
  return *std::move(done);
}

}  // namespace headwise::inline HEADWISE_ABI
