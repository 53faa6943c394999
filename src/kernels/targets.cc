#include "headwise/kernels/targets.h"

#include <hwy/targets.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace headwise {

std::vector<std::string> available_targets() {
  std::vector<std::string> names;
  // A lower bit is a better target.
  for (std::int64_t left = hwy::SupportedTargets(); left != 0;
       left &= left - 1) {
    std::string name = hwy::TargetName(left & -left);
    std::ranges::transform(name, name.begin(), [](unsigned char c) {
      return static_cast<char>(std::tolower(c));
    });
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace headwise
