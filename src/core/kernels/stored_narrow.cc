#include "kernels/narrow.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/stored_narrow.cc"  // this file, from src/
#include <hwy/foreach_target.h>                        // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

#include "kernels/stored_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {

const StoredTile* stored(StoredType type) {
  return narrow_tile_of<FloatReads>(type);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
Status check_narrow(bool /*used*/) { return ok(); }
HWY_EXPORT(stored);
const StoredTile& stored_narrow(StoredType type) {
  return *HWY_DYNAMIC_DISPATCH(stored)(type);
}
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
