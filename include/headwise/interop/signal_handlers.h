// What a program's signal handlers may call: the library itself installs none.
//
//   void on_signal(int signal) {   // SIGINT, SIGTERM; then the program ends
//     headwise::remove_unfinished_files();
//     std::signal(signal, SIG_DFL);
//     std::raise(signal);
//   }
#pragma once

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Removes the temporary files and folders that this process is writing. The
// program must end then: a save that is under way cannot succeed any more.
void remove_unfinished_files() noexcept;

// For a handler of SIGBUS: the path of the file that is mapped at `address`
// (siginfo_t::si_addr), which somebody has shortened since it was opened.
// nullptr if the address is in none.
const char* mapped_file_at(const void* address) noexcept;

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
