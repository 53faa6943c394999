#include "any_heads.h"

#include <fmt/format.h>

#include <algorithm>

#include "shell/outcome.h"

namespace headwise::cli {

Status check_has_heads(const HeadsLeft& left) {
  const bool none = std::ranges::all_of(
      left, [](const auto& heads) { return heads.empty(); });
  return none ? option_error("--model", "has no heads left", {},
                             ErrorCode::bad_data)
              : ok();
}

Error computes_nan(std::string_view option, const HeadId& head) {
  return option_error(
      option, message("computes NaN in head {}.{}", head.layer, head.head),
      "attention weights that are numbers", ErrorCode::bad_data);
}

}  // namespace headwise::cli
