// The user's text: from a file, or from standard input ("-").
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"

namespace headwise::cli {

// What messages call it: the path, or "standard input".
std::string name_of_text(const std::string& path);

// More than any text that is worth reading at once; a device may have no end.
inline constexpr std::size_t kLargestText = std::size_t{1} << 28;

// Errors: io_error; bad_data for more than `most` bytes. Their operation is
// `what`.
Result<std::string> read_text(std::string_view what, const std::string& path,
                              std::size_t most = kLargestText);

// The lines without their ends, LF or CR LF; the end of the last one begins no
// other. Views of the text, but for a byte order mark.
std::vector<std::string_view> lines_of(std::string_view text);

// bad_data where the text, or the line of it that `about` names, is not UTF-8.
Status check_utf8_text(const FileSubject& about, std::string_view text);

}  // namespace headwise::cli
