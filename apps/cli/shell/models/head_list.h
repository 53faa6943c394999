// Heads as an option lists them: "3.1,4.5".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/models/text_model.h"
#include "headwise/module/head_hooks.h"

namespace headwise::cli {

// "3.1"
std::optional<HeadId> head_in(std::string_view text);

// In the order of the text. Errors: invalid_argument for a text that is not a
// list of LAYER.HEAD, or has a head twice.
Result<std::vector<HeadId>> parse_head_list(std::string_view option,
                                            std::string_view text);

// The index of the head among those of its layer. Errors: invalid_argument for
// a head that the model lacks; out_of_memory.
Result<std::size_t> place_of_head(std::string_view option, const HeadId& head,
                                  const HeadsLeft& left);
// The same error, of the first such head.
Status check_heads(std::string_view option, const std::vector<HeadId>& heads,
                   const HeadsLeft& left);

// "3.1+4.5"
std::string heads_text(const std::vector<HeadId>& heads,
                       std::string_view between = "+");

}  // namespace headwise::cli
