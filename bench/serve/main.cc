// serve_workloads [--threads N]
// Answers a harness that measures; serve.h has the protocol. Not installed.
#include <charconv>
#include <cstddef>
#include <iostream>
#include <span>
#include <string_view>
#include <system_error>

#include "headwise/run/executor.h"
#include "serve.h"

namespace headwise::cli {
namespace {

int fail(std::string_view message) {
  std::cerr << "serve_workloads: " << message << '\n';
  return static_cast<int>(Exit::usage);
}

int run(std::span<char* const> arguments) {
  std::size_t threads = 1;
  if (!arguments.empty()) {
    const std::string_view count = arguments.back();
    const char* const end = count.data() + count.size();
    const auto [stop, error] = std::from_chars(count.data(), end, threads);
    if (arguments.size() != 2 ||
        std::string_view(arguments[0]) != "--threads" || error != std::errc{} ||
        stop != end || threads == 0) {
      return fail("expected --threads N, or no arguments");
    }
  }
  const auto executor = Executor::with_threads(threads);
  if (!executor) {
    return fail(executor.error().message());
  }
  const Outcome outcome = serve(std::cin, std::cout, *executor);
  return outcome ? 0 : fail(outcome.error().error.message());
}

}  // namespace
}  // namespace headwise::cli

int main(int argc, char** argv) {
  return headwise::cli::run(
      std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
}
