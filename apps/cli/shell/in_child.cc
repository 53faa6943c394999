#include "in_child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <string>
#include <utility>

#include "outcome.h"

namespace headwise::cli {
namespace {

using Bytes = std::vector<std::byte>;

// The code, then the operation and the messages with a NUL between them.
std::string message_of(const Error& error) {
  const ErrorDetails& is = error.details();
  return static_cast<char>(error.code()) + is.operation + '\0' +
         is.given.packed() + '\0' + is.expected.packed();
}

Error error_of(std::span<const std::byte> bytes) {
  const std::string message(reinterpret_cast<const char*>(bytes.data()),
                            bytes.size());
  const std::size_t given = message.find('\0', 1) + 1;
  const std::size_t expected = message.find('\0', given) + 1;
  const auto unpacked = [&](std::size_t from, std::size_t to) {
    return Message::unpacked(message.substr(from, to - from))
        .value_or(Message());
  };
  return {static_cast<ErrorCode>(message[0]),
          {.operation = message.substr(1, given - 2),
           .given = unpacked(given, expected - 1),
           .expected = unpacked(expected, message.size())}};
}

// Its exit code says what is in the file: 0 a result, 1 an error. Runs nothing
// that the other process left for its own end.
[[noreturn]] void work_in_child(int file,
                                const std::function<Result<Bytes>()>& work) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGBUS}) {
    ::signal(signal, SIG_DFL);
  }
  // What GLib says before it aborts.
  ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
  const auto result = work();
  const std::string error = result ? "" : message_of(result.error());
  const auto bytes = result ? std::span<const std::byte>(*result)
                            : std::as_bytes(std::span(error));
  const bool whole = ::write(file, bytes.data(), bytes.size()) ==
                     static_cast<ssize_t>(bytes.size());
  ::_exit(!whole ? 2 : result ? 0 : 1);
}

Error cannot_start(int number) {
  return system_error({.operation = "cannot start a process"}, number)
      .with_code(ErrorCode::out_of_memory);
}

}  // namespace

Result<Bytes> in_child(const std::function<Result<Bytes>()>& work) {
  const int file = ::memfd_create("result", MFD_CLOEXEC);
  const pid_t child = file < 0 ? -1 : ::fork();
  if (child == 0) {
    try {
      work_in_child(file, work);
    } catch (...) {
      ::_exit(2);
    }
  }
  if (child < 0) {
    const int number = errno;
    ::close(file);
    return cannot_start(number);
  }
  int status = 0;
  TEMP_FAILURE_RETRY(::waitpid(child, &status, 0));
  Bytes bytes(static_cast<std::size_t>(::lseek(file, 0, SEEK_END)));
  const ssize_t count = ::pread(file, bytes.data(), bytes.size(), 0);
  ::close(file);
  const bool whole = count == static_cast<ssize_t>(bytes.size()) && count > 0;
  if (!whole || !WIFEXITED(status) || WEXITSTATUS(status) > 1) {
    return Error(ErrorCode::out_of_memory,
                 {.given = "librsvg gave up: too little memory, or no thread "
                           "can be started"});
  }
  return WEXITSTATUS(status) == 0 ? Result<Bytes>(std::move(bytes))
                                  : error_of(bytes);
}

}  // namespace headwise::cli
