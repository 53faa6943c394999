// Messages in the language of the run.
#pragma once

#include <string>
#include <string_view>

#include "headwise/base/message.h"

namespace headwise::cli {

// A translation says where the values of a message go:
//
//   {0}  the first value; {0:은/는} with the particle that fits it
//   {s}  the subject, at the beginning only. It is left out, with what follows
//        it up to a space, where there is none.
std::string in_language(const Message& message, std::string_view subject = {});

}  // namespace headwise::cli
