#include "kernels/stored_tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/stored_tile.cc"  // this file, from src/
#include <hwy/foreach_target.h>                      // IWYU pragma: keep
// Only after foreach_target.h:
#include <hwy/highway.h>

#include "kernels/stored_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headwise::inline HEADWISE_ABI::kernels {
namespace HWY_NAMESPACE {
namespace {

const StoredTile* stored(StoredType type) { return tile_of<FloatReads>(type); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
HWY_EXPORT(stored);
const StoredTile& stored_tile(StoredType type) {
  return *HWY_DYNAMIC_DISPATCH(stored)(type);
}
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
