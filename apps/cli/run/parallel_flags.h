// --parallel and the option that needs it, as typed.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "shell/option_row.h"

namespace headwise::cli {

struct ParallelFlags {
  std::string scheme;                   // context, heads, auto; empty: none
  std::optional<std::size_t> deadline;  // seconds

  bool given() const { return !scheme.empty(); }
  std::chrono::milliseconds longest_wait() const;
};

std::vector<OptionRow> parallel_options(ParallelFlags& flags);

}  // namespace headwise::cli
