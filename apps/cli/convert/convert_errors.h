// Errors of the library in the words of `headwise convert`.
#pragma once

#include "headwise/base/result.h"

namespace headwise::cli {

// An error about an argument, with its option in the argument's place: `--heads
// is 5` for num_heads. Other errors stay.
Error in_convert_words(const Error& error);

}  // namespace headwise::cli
