// Writes a file completely or not at all.
//
// The bytes are written to a new file in the same folder and flushed to the
// disk; then the new file replaces the old one in one step. A failure on the
// way (a full disk, a limit on file sizes) leaves the old file unchanged and no
// other file. A process that is killed meanwhile also leaves the old file or
// the new one. It may leave what it had written as .headwise-NUMBER-CHECK:
// readers ignore that file, and the next save in that folder removes it.
// remove_unfinished_files() (signal_handlers.h) does so in a signal handler.
//
// The file has the owner, the group and the permissions of the one it replaces,
// or those that the umask gives. If the group cannot be kept, its permissions
// are not given to another group. A symbolic link stays: its target is
// replaced. Anything but a regular file (a FIFO, /dev/stdout, /dev/full) is
// written to directly.
//
// No signal reaches the program: SIGXFSZ and SIGPIPE are blocked in the calling
// thread during the call and reported as errors.
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

// The same for several pieces, written one after another.
Status write_file_atomically(
    const std::string& path,
    std::span<const std::span<const std::byte>> pieces);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
