// The loops over numbers narrower than float32: keys and values stored in 16
// bits or as int8, and pairs of bfloat16. They take as long to compile as all
// others, and HEADWISE_NARROW=OFF leaves them out: no_narrow.cc takes their
// place.
#pragma once

#include "headwise/base/result.h"
#include "headwise/version.h"
#include "kernels/stored_tile.h"

namespace headwise::inline HEADWISE_ABI::kernels {

// An error, unsupported, if `used` is true and this build has no such loops. A
// call that uses them checks this first.
Status check_narrow(bool used);

// The tile of stored_tile() for a type that is not float32.
const StoredTile& stored_narrow(StoredType type);

}  // namespace headwise::inline HEADWISE_ABI::kernels
