// Reads a tokenizer.json.
#pragma once

#include <string_view>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"
#include "headwise/version.h"
#include "tokenizer/tokenizer_spec.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// Errors: bad_data, about `subject`, for a text that is no JSON object and for
// a vocabulary or merges of another form. The other parts are checked by those
// who read them.
Result<TokenizerSpec> parse_tokenizer_json(std::string_view text,
                                           const FileSubject& subject);

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
