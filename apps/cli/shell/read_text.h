// The user's text: from a file, or from standard input ("-").
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"

namespace headwise::cli {

// What errors call the file "-".
inline constexpr std::string_view kStandardInput = "standard input";

// The path, or kStandardInput.
std::string name_of_text(const std::string& path);

// More than any text that is worth reading at once; a device may have no end.
inline constexpr std::size_t kLargestText = std::size_t{1} << 28;

// Errors: io_error; bad_data for more than `most` bytes. Their operation is
// `what`.
Result<std::string> read_text(std::string_view what, const std::string& path,
                              std::size_t most = kLargestText);

// Errors: bad_data where there are no lines, or one is not UTF-8.
Status check_lines(const FileSubject& about,
                   std::span<const std::string_view> lines,
                   std::string_view expected);

}  // namespace headwise::cli
