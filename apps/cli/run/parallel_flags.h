// --parallel and the option that needs it, as typed.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "shell/outcome.h"

namespace headwise::cli {

class Arguments;
struct RunFlags;

struct ParallelFlags {
  std::string scheme;                   // context, heads, auto; empty: none
  std::optional<std::size_t> deadline;  // seconds

  bool given() const { return !scheme.empty(); }
  std::chrono::milliseconds longest_wait() const;
};

void add_parallel_options(const Arguments& ranks, ParallelFlags& flags);

// Errors: usage, for options that need --parallel and those that it does not
// take.
Outcome check_parallel_flags(const RunFlags& flags);

}  // namespace headwise::cli
