// Labelled text from the file or the standard input that an option names.
#pragma once

#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/train/labelled_text.h"

namespace headwise::cli {

// `path` may be "-". Errors: those of read_text() and parse_labelled_text(),
// which begin with the option: "--data".
Result<LabelledText> read_labelled(std::string_view option,
                                   const std::string& path);

}  // namespace headwise::cli
