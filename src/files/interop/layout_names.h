// The names of tensors in layouts: a prefix and a pattern, in one of which {N}
// may be the number of the layer.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "headwise/interop/layouts.h"

namespace headwise::inline HEADWISE_ABI {

inline constexpr std::string_view kLayerNumber = "{N}";

// Whether there is a place for the number.
bool is_numbered(std::string_view pattern);

// The name of a row's tensor in the layer `number`.
std::string name_in(std::string_view prefix, std::string_view pattern,
                    std::size_t number);

// The number in `name`, if it is of this prefix and pattern; 0 where they have
// none.
std::optional<std::size_t> number_in(std::string_view name,
                                     std::string_view prefix,
                                     std::string_view pattern);

// What stands before the layout's names in a file: the first 64 of them. Where
// names of the layout have no number, {N} is the last number in the prefix:
// "encoder.layers.{N}.self_attn.".
std::set<std::string> prefixes_in(const ShapesByName& shapes,
                                  const Layout& layout);

}  // namespace headwise::inline HEADWISE_ABI
