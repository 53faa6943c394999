#include "headwise/steps/head_groups.h"

#include <string>

#include "base/check.h"
#include "base/out_of_memory.h"

namespace headwise::inline HEADWISE_ABI {

Status HeadGroups::check(std::string_view operation) const try {
  if (!given()) {
    return ok();
  }
  HEADWISE_TRY(check_shape(operation, "kv_groups", offsets_.extents(),
                           "(Hkv + 1)", {{Hkv_ + 1}}));
  const auto wrong = [&](std::size_t n, const std::string& expected) {
    return value_error(operation, "kv_groups[" + std::to_string(n) + "]",
                       std::to_string(offsets_(n)), expected,
                       ErrorCode::out_of_range);
  };
  if (offsets_(0) != 0) {
    return wrong(0, "0");
  }
  for (std::size_t n = 1; n <= Hkv_; ++n) {
    if (offsets_(n) <= offsets_(n - 1)) {
      return wrong(n, "more than kv_groups[" + std::to_string(n - 1) +
                          "] = " + std::to_string(offsets_(n - 1)));
    }
  }
  if (offsets_(Hkv_) != static_cast<std::int64_t>(Hq_)) {
    return wrong(Hkv_, "the number of query heads, " + std::to_string(Hq_));
  }
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
