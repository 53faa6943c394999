// Lists of heads of any attention: "3.1,cross.3.1,encoder.3.1".
#pragma once

#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/transformer/model_pass.h"

namespace headwise::cli {

// In the order of the text. Errors: invalid_argument for a text that is not
// such a list, or has a head twice.
Result<std::vector<AttentionPlace>> parse_places(std::string_view option,
                                                 std::string_view text);

}  // namespace headwise::cli
