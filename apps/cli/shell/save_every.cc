#include "save_every.h"

#include <algorithm>

namespace headwise::cli {

OptionRow SaveEvery::option() {
  return {"--save-every", &seconds_, number(),
          "seconds after which finished work is saved to resume from (default "
          "30)",
          advanced()};
}

std::chrono::seconds SaveEvery::interval() const {
  constexpr std::size_t kDefault = 30;
  constexpr std::size_t kMost = 1'000'000'000;
  return std::chrono::seconds(std::min(seconds_.value_or(kDefault), kMost));
}

}  // namespace headwise::cli
