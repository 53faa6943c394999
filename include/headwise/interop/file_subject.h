// What an error of a reader or a writer is about: the function, the file and
// the entry in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct FileSubject {
  std::string operation{};  // "read_npy"
  std::string file{};       // a path, or the name of bytes in memory
  std::string entry{};      // a tensor, or a JSON path; empty: the file

  // An entry of this file, or of this entry.
  FileSubject of_entry(const std::string& name) const;

  // `given` says what is wrong with the entry, or with the file: "is empty".
  Error error(ErrorCode code, Message given, Message expected = {},
              std::optional<std::uint64_t> byte = {}) const;
  Error bad_data(Message given, Message expected = {},
                 std::optional<std::uint64_t> byte = {}) const;
  // The error of a function whose arguments came from this file. If the
  // arguments were wrong it becomes bad_data, about this entry or the one that
  // the argument names.
  Error blame(const Error& error) const;
  // The same, always about this entry.
  Error blame_here(const Error& error) const;
};

// Whether a text is UTF-8, as every tokenizer expects.

// Errors: bad_data, with the parts of `about` and the first byte that is not
// part of a character: "is not UTF-8 text: its byte 3 (0xff) begins no
// character".
Status check_utf8(ErrorDetails about, std::string_view text);
Status check_utf8(const FileSubject& about, std::string_view text);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
