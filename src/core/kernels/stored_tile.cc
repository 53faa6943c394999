#include "kernels/stored_tile.h"

#include "kernels/narrow.h"

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

const StoredTile* stored() {
  static constexpr StoredTile kTile = tile_by<FloatReads<float>>();
  return &kTile;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headwise::inline HEADWISE_ABI::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headwise::inline HEADWISE_ABI::kernels {
HWY_EXPORT(stored);
const StoredTile& stored_tile(StoredType type) {
  return type == StoredType::float32 ? *HWY_DYNAMIC_DISPATCH(stored)()
                                     : stored_narrow(type);
}
}  // namespace headwise::inline HEADWISE_ABI::kernels
#endif  // HWY_ONCE
