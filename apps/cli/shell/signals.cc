#include "signals.h"

#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <string_view>

#include "headwise/interop/atomic_file.h"
#include "headwise/words/language.h"
#include "language.h"
#include "outcome.h"

namespace headwise::cli {
namespace {

// To standard error, without memory and locks.
void say_at_once(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
    if (count <= 0) {
      return;
    }
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

void raise_again(int signal) {
  ::signal(signal, SIG_DFL);
  ::raise(signal);  // when the handler returns
}

void end_by_signal(int signal) {
  remove_unfinished_files();
  raise_again(signal);
}

void end_by_short_file(int signal, siginfo_t* about, void* /*context*/) {
  const char* const path = mapped_file_at(about->si_addr);
  if (path == nullptr) {
    raise_again(signal);
    return;
  }
  say_at_once("headwise: ");
  say_at_once(path);
  say_at_once(translated(language(), " became shorter while it was read\n"));
  remove_unfinished_files();
  ::_exit(static_cast<int>(Exit::bad_input));
}

}  // namespace

void handle_signals() {
  ::signal(SIGXFSZ, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (::signal(signal, end_by_signal) == SIG_IGN) {
      ::signal(signal, SIG_IGN);  // as under nohup
    }
  }
  struct sigaction action {};
  action.sa_sigaction = end_by_short_file;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

void end_out_of_memory() noexcept {
  say_at_once(translated(language(), "headwise: out of memory\n"));
  ::_exit(static_cast<int>(Exit::out_of_resources));
}

}  // namespace headwise::cli
