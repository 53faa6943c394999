// A program of somebody who uses headwise.
#include <headwise/headwise.h>

#include <cstddef>
#include <cstring>
#include <iostream>

namespace hw = headwise;

int main() {
  hw::Tensor<float, 2> x = hw::Tensor<float, 2>::create({4, 8}).value();
  hw::Executor::with_threads(2).value().parallel_for(
      x.extent(0), 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          x(i, 0) = static_cast<float>(i);
        }
      });
  std::cout << "headwise " << hw::version() << '\n';
  // Headers and library of one version, and the work was done.
  const bool same_version =
      std::strcmp(hw::version(), HEADWISE_VERSION_STRING) == 0;
  return same_version && x(3, 0) == 3.0f ? 0 : 1;
}
