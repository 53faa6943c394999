// --cache and the options that need it, as typed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "shell/option_row.h"

namespace headwise::cli {

// An empty string is an option that was not given.
struct CacheFlags {
  std::string kind;  // contiguous, paged
  std::string dtype;
  std::optional<std::size_t> page_size;
  std::optional<std::size_t> chunk;  // queries at a time; not given: all

  bool given() const { return !kind.empty(); }
};

std::vector<OptionRow> cache_options(CacheFlags& flags);

}  // namespace headwise::cli
