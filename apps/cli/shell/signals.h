// What the command does when the system sends it a signal.
#pragma once

namespace headwise::cli {

// - SIGINT, SIGTERM and SIGHUP remove what is half written and end the program,
//   unless they were ignored.
// - SIGBUS, where somebody shortens a file that is read through memory, ends it
//   with a message and the exit code of bad input.
// - A write beyond a limit of file sizes, or to a reader that has left, fails
//   and says so: a run that saves its results elsewhere goes on.
void handle_signals();

// The end where no memory is left for an error: a fixed text and exit code 4.
[[noreturn]] void end_out_of_memory() noexcept;

}  // namespace headwise::cli
