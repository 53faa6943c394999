#include "headwise/steps/query_start.h"

#include <string>

#include "base/check.h"
#include "base/out_of_memory.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Far beyond any position, and i + start cannot overflow.
constexpr std::int64_t kFarthest = std::int64_t{1} << 62;

Status check_number(std::int64_t start) {
  if (start <= kFarthest && start >= -kFarthest) {
    return ok();
  }
  return value_error("attention", "query_start", std::to_string(start),
                     "a number from -2^62 to 2^62", ErrorCode::out_of_range);
}

}  // namespace

Status QueryStart::check(const AttentionShape& shape) const try {
  if (kind_ == Kind::number) {
    return check_number(start_);
  }
  if (kind_ == Kind::bottom_right) {
    return ok();
  }
  HEADWISE_TRY(check_shape("attention", "query_start", starts_.extents(), "(B)",
                           {{shape.B}}));
  for (std::size_t b = 0; b < shape.B; ++b) {
    HEADWISE_TRY(check_number(starts_(b)));
  }
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

std::int64_t QueryStart::of(std::size_t b, const AttentionShape& shape) const {
  switch (kind_) {
    case Kind::number:
      return start_;
    case Kind::per_sequence:
      return starts_(b);
    case Kind::bottom_right: {
      const SequencePlace place = shape.sequence(b);
      return static_cast<std::int64_t>(place.Lkv) -
             static_cast<std::int64_t>(place.Lq);
    }
  }
  return 0;
}

}  // namespace headwise::inline HEADWISE_ABI
