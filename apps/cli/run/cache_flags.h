// --cache and the options that need it, as typed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "shell/outcome.h"

namespace headwise::cli {

class Arguments;
struct RunFlags;

// An empty string is an option that was not given.
struct CacheFlags {
  std::string kind;  // contiguous, paged
  std::string dtype;
  std::optional<std::size_t> page_size;
  std::optional<std::size_t> chunk;  // queries at a time; not given: all

  bool given() const { return !kind.empty(); }
};

void add_cache_options(const Arguments& cache, CacheFlags& flags);

// Errors: usage, for options that need --cache and those that it does not take.
Outcome check_cache_flags(const RunFlags& flags);

}  // namespace headwise::cli
