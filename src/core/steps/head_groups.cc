#include "headwise/steps/head_groups.h"

#include <limits>
#include <string>

#include "base/check.h"
#include "base/out_of_memory.h"

namespace headwise::inline HEADWISE_ABI {

Result<HeadGroups> HeadGroups::create(std::span<const std::size_t> sizes) try {
  constexpr std::string_view kOperation = "head_groups";
  HeadGroups groups;
  if (sizes.empty()) {
    return groups;
  }
  std::vector<std::size_t> offsets = {0};
  offsets.reserve(sizes.size() + 1);
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    const std::size_t left =
        std::numeric_limits<std::size_t>::max() - offsets.back();
    if (sizes[g] == 0 || sizes[g] > left) {
      return value_error(kOperation, "sizes[" + std::to_string(g) + "]",
                         std::to_string(sizes[g]), message("1 to {}", left));
    }
    offsets.push_back(offsets.back() + sizes[g]);
  }
  groups.offsets_ =
      std::make_shared<const std::vector<std::size_t>>(std::move(offsets));
  return groups;
} catch (...) {
  return caught_out_of_memory();
}

Status HeadGroups::check(std::size_t Hq, std::size_t Hkv,
                         std::string_view operation) const try {
  if (even()) {
    return ok();
  }
  const std::size_t groups = offsets_->size() - 1;
  HEADWISE_TRY(
      check_shape(operation, "kv_groups", {{groups}}, "(Hkv)", {{Hkv}}));
  if (offsets_->back() != Hq) {
    return argument_error(operation, "kv_groups",
                          message("is for {} query heads", offsets_->back()),
                          "Hq = " + std::to_string(Hq));
  }
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
