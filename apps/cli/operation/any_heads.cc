#include "any_heads.h"

#include <fmt/format.h>

#include <cstddef>

#include "shell/outcome.h"

namespace headwise::cli {

Status check_has_heads(const TextModel& model) {
  for (std::size_t layer = 0; layer < model.shape().num_layers; ++layer) {
    if (!model.heads_in(layer).empty()) {
      return ok();
    }
  }
  return option_error("--model", "has no heads left", {}, ErrorCode::bad_data);
}

Error computes_nan(std::string_view option, const HeadId& head) {
  return option_error(
      option, fmt::format("computes NaN in head {}.{}", head.layer, head.head),
      "attention weights that are numbers", ErrorCode::bad_data);
}

}  // namespace headwise::cli
