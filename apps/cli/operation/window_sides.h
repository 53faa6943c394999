// --window: LEFT,RIGHT or LEFT,RIGHT,KEEP_FIRST.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "headwise/base/result.h"
#include "headwise/distribute/shard_plan.h"
#include "headwise/steps/mask.h"

namespace headwise::cli {

struct WindowSides {
  std::optional<std::int64_t> left;  // no value: all keys on that side
  std::optional<std::int64_t> right;
  std::int64_t keep_first = 0;

  // Errors: invalid_argument, about --window.
  static Result<WindowSides> parse(const std::string& text);

  Mask mask() const { return window(left, right, keep_first); }
};

// The keys of --window and --causal together, for a plan of the work.
KeyBand band_of(const std::optional<WindowSides>& window, bool causal);

}  // namespace headwise::cli
