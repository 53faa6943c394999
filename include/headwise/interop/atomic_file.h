// Writes a file whole or not at all.
//
// The bytes go to a new file in the same folder, are flushed to the disk, and
// the new file takes the place of the old one in one step; a failure on the way
// (a full disk, a limit on file sizes) leaves the old file as it was and
// nothing beside it. A process that is killed meanwhile leaves the old file or
// the new one, too, and may leave what it had written beside it, as
// .headwise-NUMBER: no reader minds it, and the next file written to that
// folder removes it. The file has the owner, the group and the permissions of
// the one it replaces, or those that the umask gives. Where the group cannot be
// kept, its rights are not given to another. A symbolic link stays: what it
// points to is replaced. Something that is no regular file (a FIFO,
// /dev/stdout, /dev/full) is written to directly.
//
// No signal reaches the program: SIGXFSZ and SIGPIPE are held back in the
// calling thread during the call and come back as errors.
//
// Errors: io_error with the path and the reason; out_of_memory.
//   write_file_atomically: out.npy: No space left on device
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

Status write_file_atomically(const std::string& path,
                             std::span<const std::byte> bytes);
inline Status write_file_atomically(const std::string& path,
                                    std::string_view text) {
  return write_file_atomically(path, std::as_bytes(std::span(text)));
}

// The pieces one after the other.
Status write_file_atomically(
    const std::string& path,
    std::span<const std::span<const std::byte>> pieces);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
