// The files of src/view/inspect/page/viewer, built into the library.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// The bytes of template.html, viewer.css, or viewer.js: the scripts that ORDER
// names, in its order.
std::span<const std::byte> viewer_file(std::string_view name);

}  // namespace headwise::inline HEADWISE_ABI
