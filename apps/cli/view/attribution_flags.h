// `headwise stats --attribution`, as typed; an empty string is an option that
// was not given.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "shell/outcome.h"
#include "viewed_flags.h"
#include "viewed_heads.h"

namespace headwise::cli {

class Arguments;

struct AttributionFlags {
  std::string name;
  std::string target;  // a label or a token
  // Whose rollout or flow, or whose next token gradients are of.
  std::optional<std::size_t> output_token;

  bool given() const { return !name.empty(); }
};

// Whether a measure is of gradients; goes through all layers.
bool of_gradients(const std::string& name);
bool through_layers(const std::string& name);

// --target and --output-token, for every command that has --attribution.
void add_target_options(const Arguments& attribution, AttributionFlags& flags);
void add_attribution_options(const Arguments& command, AttributionFlags& flags);

// The numbers of heads that heads can be sorted by, by name.
std::span<const std::string_view> attribution_columns();

// Errors: usage, for options that do not go together.
Status check_attribution_flags(const ViewedFlags& seen);

// The position of --output-token. Errors: invalid_argument, if the text has
// fewer tokens.
Result<std::size_t> output_token(const AttributionFlags& flags,
                                 const ViewedText& text);

}  // namespace headwise::cli
