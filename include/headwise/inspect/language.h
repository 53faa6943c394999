// The languages of steps, pictures and pages.
#pragma once

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

enum class Language { en, ko };

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
