// What stands before a layout's names in a file.
#pragma once

#include <set>
#include <string>

#include "headwise/interop/layouts.h"

namespace headwise::inline HEADWISE_ABI {

// The first 64 of them. Where names of the layout have no number, {N} is the
// last number in the prefix: "encoder.layers.{N}.self_attn.".
std::set<std::string> prefixes_in(const ShapesByName& shapes,
                                  const Layout& layout);

}  // namespace headwise::inline HEADWISE_ABI
