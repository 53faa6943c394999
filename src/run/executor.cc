#include "headwise/run/executor.h"

#include <algorithm>

namespace headwise {

void Executor::parallel_for(std::size_t count, std::size_t grain,
                            Body body) const {
  const std::size_t ranges =
      std::min(count / std::max<std::size_t>(grain, 1), 4 * threads());
  if (ranges <= 1 || threads() == 1) {
    if (count != 0) {
      body(0, count);
    }
    return;
  }
  run_workers(ranges, [&](std::size_t range) {
    body(range * count / ranges, (range + 1) * count / ranges);
  });
}

void Executor::run_workers(std::size_t workers,
                           FunctionRef<void(std::size_t)> work) const {
  if (workers > 1 && threads() > 1) {
    spread(workers, work);
    return;
  }
  for (std::size_t worker = 0; worker < workers; ++worker) {
    work(worker);
  }
}

}  // namespace headwise
