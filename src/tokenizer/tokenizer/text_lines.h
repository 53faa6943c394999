// The lines of a text file.
#pragma once

#include <algorithm>
#include <string_view>

#include "headwise/interop/file_subject.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

// The next line, without its end; `text`, not empty, becomes what follows.
inline std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

inline FileSubject subject_of_line(const FileSubject& file,
                                   std::size_t number) {
  return file.of_entry(message("line {}", number).text());
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
