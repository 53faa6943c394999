// Writes a file completely or not at all.
//
// The bytes are written to a new file in the same folder and flushed to the
// disk; then the new file replaces the old one in one step. A failure on the
// way (a full disk, a limit on file sizes) leaves the old file unchanged and no
// other file. A process that is killed meanwhile also leaves the old file or
// the new one. It may leave what it had written as .headwise-NUMBER-CHECK:
// readers ignore that file, and the next save in that folder removes it.
// remove_unfinished_files() does so in a signal handler.
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
// Errors: io_error with the path and the reason; out_of_memory; those of a
// piece that cannot be made.
//   write_file_atomically: out.npy: No space left on device
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "headwise/base/function_ref.h"
#include "headwise/base/result.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

struct FileSave {
  // The program, not the user, chose the name: a symbolic link of that name is
  // replaced and never followed, a FIFO or a device is an error, and the
  // permissions are those of a new file.
  bool own_name = false;
  // Other machines write to the folder, too. Where locks are local to a
  // machine, the file that another one is writing looks like a leftover: none
  // is removed.
  bool shared_folder = false;
};

Status write_file_atomically(const std::string& path,
                             std::span<const std::byte> bytes,
                             const FileSave& save = {});
inline Status write_file_atomically(const std::string& path,
                                    std::string_view text,
                                    const FileSave& save = {}) {
  return write_file_atomically(path, std::as_bytes(std::span(text)), save);
}

// The same for several pieces, written one after another.
Status write_file_atomically(const std::string& path,
                             std::span<const std::span<const std::byte>> pieces,
                             const FileSave& save = {});

// The bytes of the n-th piece, valid until the next call. May throw only
// std::bad_alloc.
using FilePiece = FunctionRef<Result<std::span<const std::byte>>(std::size_t)>;

// The same for `count` pieces, each asked for when it is written: more bytes
// than a process holds at a time.
Status write_file_atomically(const std::string& path, std::size_t count,
                             const FilePiece& piece, const FileSave& save = {});

// What a program's signal handlers may call: the library itself installs none.
//
//   void on_signal(int signal) {   // SIGINT, SIGTERM; then the program ends
//     headwise::remove_unfinished_files();
//     std::signal(signal, SIG_DFL);
//     std::raise(signal);
//   }

// Removes the temporary files and folders that this process is writing. The
// program must end then: a save that is under way cannot succeed any more.
void remove_unfinished_files() noexcept;

// For a handler of SIGBUS: the path of the file that is mapped at `address`
// (siginfo_t::si_addr), which somebody has shortened since it was opened.
// nullptr if the address is in none.
const char* mapped_file_at(const void* address) noexcept;

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
