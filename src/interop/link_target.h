// Where a path leads whose last name is a symbolic link, or a chain of them.
#pragma once

#include <optional>
#include <string>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

struct LinkTarget {
  std::string path;  // no link any more, or that of an open file
  // The open file that the path names: 1 of "/proc/self/fd/1", where
  // /dev/stdout leads.
  std::optional<int> descriptor{};
};

// Nothing where links form a cycle.
std::optional<LinkTarget> follow_links(std::string path);

}  // namespace headwise::inline HEADWISE_ABI
