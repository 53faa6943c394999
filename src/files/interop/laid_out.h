// The shapes of a layer in a layout, and its tensors in another one.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/interop/layouts.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// For the layer with this number; `shapes` are those that the match was found
// in.
Result<LayerShapes> layer_shapes(const LayoutMatch& match,
                                 const ShapesByName& shapes,
                                 std::size_t number);
// The tensors of a layer in another layout, by their names in a file with this
// layout, after `prefix` (by default the layout's first). It is an error if the
// layer lacks a parameter that the layout requires, or has one that the layout
// has no place for; `num_heads` must be given if the layout's shapes depend on
// it. Errors: invalid_argument.
Result<NamedArrays> lay_out(const LayerParams& layer, std::size_t number,
                            const Layout& layout,
                            std::optional<std::string_view> prefix = {});

}  // namespace headwise::inline HEADWISE_ABI
