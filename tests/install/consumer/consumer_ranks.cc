// A program of somebody who divides a call among ranks with headwise::ranks.
#include <headwise/distribute/thread_ranks.h>

namespace hw = headwise;

int main() {
  const auto ended =
      hw::run_ranks(2, [](hw::Communicator& group) { return group.barrier(); });
  return ended && ended->size() == 2 && ended->front() ? 0 : 1;
}
