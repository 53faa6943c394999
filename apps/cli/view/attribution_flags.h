// `headwise stats --attribution`, as typed; an empty string is an option that
// was not given.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "shell/outcome.h"
#include "viewed_flags.h"

namespace headwise::cli {

class Arguments;

struct AttributionFlags {
  std::string name;
  std::string target;                       // a label
  std::optional<std::size_t> output_token;  // whose rollout or flow

  bool given() const { return !name.empty(); }
};

void add_attribution_options(const Arguments& command, AttributionFlags& flags);

// Errors: usage, for options that do not go together; `several_texts`: with
// --corpus and the like.
Outcome check_attribution_flags(const ViewedFlags& seen, bool several_texts,
                                const std::string& sort,
                                const AttributionFlags& flags);

}  // namespace headwise::cli
