// Long work of one process, such as reading or writing files.
#pragma once

#include <optional>

#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"

namespace headwise::cli {

// What `work` returns: an Outcome, a Status or a Result. Meanwhile the other
// processes learn that this one is alive. `group` is null in a process that
// works alone.
template <class Work>
auto work_visibly(Communicator* group, const Work& work) -> decltype(work()) {
  if (group == nullptr) {
    return work();
  }
  std::optional<decltype(work())> done;
  HEADWISE_TRY(group->busy_with([&] {
    done.emplace(work());
    return ok();
  }));
  return *std::move(done);
}

}  // namespace headwise::cli
