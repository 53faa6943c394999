#include "open_page.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace headwise::cli {
namespace {

bool is_set(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

Failure cannot(const std::string& path, Message why) {
  return {
      Exit::out_of_resources,
      {ErrorCode::unsupported,
       {.operation = "--open",
        .given = std::move(why),
        .hint = message("the page is written: open {} in a browser", path)}}};
}

// What the program said; -1 where it could not be run.
int run(const char* program, const std::string& argument) {
  std::string name = program;
  std::string copy = argument;
  char* const arguments[] = {name.data(), copy.data(), nullptr};
  // It may count on the signals that this program ignores (main.cc).
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  sigaddset(&signals, SIGXFSZ);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  ::posix_spawnattr_setsigdefault(&attributes, &signals);
  pid_t child = 0;
  const int failed =
      ::posix_spawnp(&child, program, nullptr, &attributes, arguments, environ);
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    return -1;
  }
  int status = 0;
  if (TEMP_FAILURE_RETRY(::waitpid(child, &status, 0)) < 0) {
    return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

Outcome open_page(const std::string& path) {
  if (!is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") && !is_set("BROWSER")) {
    return cannot(path,
                  "no display was found (DISPLAY, WAYLAND_DISPLAY "
                  "and BROWSER are not set)");
  }
  switch (run("xdg-open", path)) {
    case 0:
      return {};
    case -1:
      return cannot(path, "xdg-open is not installed");
    default:
      return cannot(path, "xdg-open found no browser");
  }
}

Result<std::string> make_temporary_page() {
  constexpr std::string_view kEnding = ".html";
  const char* const chosen = std::getenv("TMPDIR");
  std::string path = chosen == nullptr || *chosen == '\0' ? "/tmp" : chosen;
  path += "/headwise-XXXXXX";
  path += kEnding;
  const int descriptor = ::mkstemps(path.data(), int{kEnding.size()});
  if (descriptor < 0) {
    return system_error({.operation = "--open", .file = path}, errno);
  }
  ::close(descriptor);
  return path;
}

}  // namespace headwise::cli
