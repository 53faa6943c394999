// A program of somebody who reads files with headwise::io.
#include <headwise/io.h>

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
