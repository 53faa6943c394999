// A program of somebody who runs ranks over MPI, where MPI is not running.
#include <headwise/distribute/mpi.h>

#include <iostream>

namespace hw = headwise;

int main() {
  const auto group = hw::mpi_ranks();
  if (group) {
    return 1;
  }
  std::cout << group.error().message() << '\n';
  return 0;
}
