// Gives every rank a text that one rank has.
//
// Errors: rank_failure; out_of_memory.
#pragma once

#include <cstddef>
#include <string>

#include "headwise/base/result.h"
#include "headwise/distribute/communicator.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// All ranks call it; `text` is that of rank `from`, the others' is not read.
Result<std::string> share_text(Communicator& group, std::string text,
                               std::size_t from);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
