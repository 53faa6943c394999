// The first lines of a file that holds results of a computation (journal.h,
// RowParts):
//
//   {"of":WORK,..}
//   SHA-256 of that line
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "headwise/json/json.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

inline constexpr std::size_t kMostWorkBytes = std::size_t{1} << 26;
inline constexpr std::size_t kAfterFirstLine = 64 + 2;  // between two line ends

std::string work_lines(const std::string& first_line);
// The first line of a text, which has `size` bytes. Nothing if it is damaged or
// of other work.
std::optional<Json> parse_work_lines(std::string_view text, std::size_t size,
                                     const Json& work);

}  // namespace headwise::inline HEADWISE_ABI
