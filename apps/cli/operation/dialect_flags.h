// What --dialect says about the files that a command reads.
#pragma once

#include <string>
#include <vector>

#include "headwise/interop/dialects.h"
#include "operation_flags.h"

namespace headwise::cli {

inline std::vector<std::string> dialect_names() {
  std::vector<std::string> names;
  for (const Dialect& dialect : dialects()) {
    names.emplace_back(dialect.name);
  }
  return names;
}

// Null without --dialect.
inline const Dialect* dialect_of(const OperationFlags& flags) {
  return flags.dialect.empty() ? nullptr : find_dialect(flags.dialect);
}

// Whether the axis of heads comes before that of rows: as --layout says;
// without it, rows come first in a ragged batch, otherwise as in the dialect.
inline bool heads_first(const OperationFlags& flags,
                        const std::string& layout) {
  if (!layout.empty()) {
    return layout == "bhld";
  }
  const Dialect* const dialect = dialect_of(flags);
  return flags.offsets.empty() &&
         (dialect == nullptr || dialect->layout == TensorLayout::bhld);
}

}  // namespace headwise::cli
