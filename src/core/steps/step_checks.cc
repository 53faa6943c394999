#include "steps/step_checks.h"

#include <array>
#include <string>

#include "base/check.h"
#include "headwise/steps/offsets.h"

namespace headwise::inline HEADWISE_ABI {

Status check_like_scores(std::string_view operation, std::string_view argument,
                         const Extents<4>& given, const Extents<4>& scores) {
  return check_shape(operation, argument, given, "(B, Hq, Lq, Lkv)", scores);
}

std::string_view pair_axes(const BoundAddedKeys& added, bool mean) {
  constexpr std::array<std::string_view, 2 * (BoundAddedKeys::kMost + 1)>
      kAxes = {"(B, Hq, Lq, Lkv)",     "(B, Hq, Lq, Lkv + 1)",
               "(B, Hq, Lq, Lkv + 2)", "(B, 1, Lq, Lkv)",
               "(B, 1, Lq, Lkv + 1)",  "(B, 1, Lq, Lkv + 2)"};
  return kAxes[(mean ? BoundAddedKeys::kMost + 1 : 0) + added.count()];
}

Status check_bound_to_scores(std::string_view operation,
                             std::string_view argument,
                             const AttentionShape& bound,
                             const Extents<4>& scores) {
  const Extents<4> given{bound.B, bound.Hq, bound.Lq, bound.Lkv};
  return check_like_scores(operation, argument, given, scores);
}

Status check_grouped_heads(std::string_view operation,
                           std::string_view argument, const GroupedHeads& given,
                           std::string_view axes, const Extents<4>& expected,
                           std::size_t Hq) {
  HEADWISE_TRY(
      check_shape(operation, argument, given.heads.extents(), axes, expected));
  const std::size_t Hkv = given.heads.extent(2);
  if (!given.kv_groups.even()) {
    return given.kv_groups.check(Hq, Hkv, operation);
  }
  const bool even = Hkv == 0 ? Hq == 0 : Hq % Hkv == 0;
  return even ? ok()
              : argument_error(
                    operation, "query", message("has {} heads", Hq),
                    message("a multiple of the {} heads of {}", Hkv, argument));
}

Status check_token_offsets(std::string_view operation, std::size_t B,
                           std::size_t L,
                           TensorView<const std::int64_t, 1> offsets) {
  if (offsets.data() == nullptr) {
    return ok();
  }
  if (B != 1) {
    return argument_error(operation, "offsets",
                          message("are given with a batch axis of {}", B), "1");
  }
  return Offsets(offsets).check(L, L, operation);
}

}  // namespace headwise::inline HEADWISE_ABI
