// The heads as JSON: their numbers, and the attention weights of one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shell/json.h"
#include "view_heads.h"
#include "viewed_heads.h"

namespace headwise::cli {

// `whole`: the head that drawn.whole is.
std::string view_json(const ViewedText& text, const DrawnHeads& drawn,
                      const std::optional<HeadId>& whole);

Json nodes_json(const std::vector<ViewedNode>& nodes);
// {"rows", "uneven", "farthest": {"sum", "layer", ..} or null}
Json uneven_json(const UnevenWeights& uneven);

}  // namespace headwise::cli
