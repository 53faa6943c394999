// The heads as JSON: their numbers, and the attention weights of one.
#pragma once

#include <optional>
#include <string>

#include "view_heads.h"

namespace headwise::cli {

// `whole`: the head that drawn.whole is.
std::string view_json(const ViewedText& text, const DrawnHeads& drawn,
                      const std::optional<HeadName>& whole);

}  // namespace headwise::cli
