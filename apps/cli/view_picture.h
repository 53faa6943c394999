// The heads as a picture: all of them, or one.
#pragma once

#include <optional>
#include <string>

#include "headwise/base/result.h"
#include "headwise/inspect/step_table.h"
#include "view_heads.h"

namespace headwise::cli {

// An SVG. `sort`: the largest of this number first; empty: by layer. Errors:
// those of heads_svg() and heads_grid_svg().
Result<std::string> view_picture(const SeenText& text, const DrawnHeads& drawn,
                                 const std::optional<HeadName>& whole,
                                 const std::string& title,
                                 const std::string& sort, Language language);

}  // namespace headwise::cli
