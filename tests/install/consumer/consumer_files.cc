// A program of somebody who reads a file with headwise::files.
#include <headwise/interop/npy.h>

#include <iostream>

namespace hw = headwise;

int main() {
  const auto nothing = hw::parse_npy({}, "empty.npy");
  if (nothing) {
    return 1;
  }
  std::cout << nothing.error().message() << '\n';
  return 0;
}
