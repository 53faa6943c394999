// Errors of the library in the words of `headwise convert`.
#pragma once

#include "headwise/base/result.h"

namespace headwise::cli {

// An error about an argument, with its option in the argument's place:
// `--num-heads is 5` for num_heads. Others begin with the command, not with the
// reader of the file.
Error in_convert_words(const Error& error);

}  // namespace headwise::cli
