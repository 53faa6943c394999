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

}  // namespace headwise
