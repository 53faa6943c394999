// A program of somebody who shows the steps of a layer with headwise::view.
#include <headwise/inspect/trace.h>

#include <iostream>

namespace hw = headwise;

int main() {
  const auto steps = hw::list_steps({.B = 1, .Lq = 3, .Lkv = 3});
  std::cout << steps.size() << " steps\n";
  return steps.empty() ? 1 : 0;
}
