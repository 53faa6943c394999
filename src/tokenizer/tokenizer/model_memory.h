// Memory that models reuse from word to word; each thread has one.
#pragma once

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

struct ModelMemory {};

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
