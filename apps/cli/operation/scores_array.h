// A file over the scores (--mask, --bias) and the names of its axes.
#pragma once

#include <string>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "headwise/steps/named_axes.h"

namespace headwise::cli {

// The axes of `array`, whose elements then stand side by side, of shape
// (count), for a view on them. `option` is --mask or --bias, `text` what its
// --mask-axes or --bias-axes says, such as B,1,Lkv (Hq is H, too); empty: the
// axes are those of a rank-4 array, and an axis of extent 1 is broadcast. A
// shorter one is never guessed. Errors: invalid_argument for the text,
// shape_mismatch for the array.
Result<NamedAxes> flatten(const std::string& option, const std::string& text,
                          Array& array);

}  // namespace headwise::cli
