// Whether a text is UTF-8, as every tokenizer expects.
#pragma once

#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Errors: bad_data, with the parts of `about` and the first byte that is not
// part of a character: "is not UTF-8 text: its byte 3 (0xff) begins no
// character".
Status check_utf8(ErrorDetails about, std::string_view text);
Status check_utf8(const FileSubject& about, std::string_view text);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
