// What the readers and writers of files have in common about errors.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// Text from a file as a message may show it: control characters as \x1b, at
// most 200 characters.
std::string printable(std::string_view text);

// "a, b, c": texts or numbers, which `shown` makes of the elements.
template <class Range, class Shown = std::identity>
std::string list_text(const Range& range, std::string_view between,
                      const Shown& shown = {}) {
  std::string text;
  bool is_first = true;
  for (const auto& element : range) {
    text += std::exchange(is_first, false) ? "" : between;
    const auto& part = std::invoke(shown, element);
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(part)>>) {
      text += std::to_string(part);
    } else {
      text += part;
    }
  }
  return text;
}

// `SUBJECT: No such file or directory`, for an errno.
Error io_error(const FileSubject& subject, int error_number);

// invalid_argument for a path that contains a NUL character: the system would
// use only what comes before it.
Status check_path(std::string_view operation, const std::string& path);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
