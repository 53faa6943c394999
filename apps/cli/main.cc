// The command line tool. Results go to standard output, everything else to
// standard error; this is the only file that writes errors and picks the exit
// code, except where a signal or the lack of memory leaves no time
// (shell/signals.h).
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "commands.h"
#include "shell/error_text.h"
#include "shell/language.h"
#include "shell/output.h"
#include "shell/ranks/rank_job.h"
#include "shell/say.h"
#include "shell/signals.h"
#include "shell/terminal_text.h"

namespace headwise::cli {
namespace {

// "rank 2: " where this process is one of several and not the first.
std::string said_by() {
  const std::size_t rank = rank_in_job().value_or(0);
  return rank == 0 ? "" : say("rank {}: ", rank);
}

// The command that was typed, to point to its help; empty: none.
std::string& typed_command() {
  static std::string name;
  return name;
}

int report(const Outcome& outcome) {
  if (outcome) {
    return static_cast<int>(Exit::ok);
  }
  // Rank 0 speaks for all, with its exit code, too.
  if (failed_together() && rank_in_job().value_or(0) != 0) {
    return static_cast<int>(Exit::ok);
  }
  // A message may quote a file, and files may hold lines of any length.
  constexpr std::size_t kColumns = 2000;
  // In one piece: several processes may write to one terminal.
  std::cerr << "headwise: " + said_by() +
                   cut_to(error_text(outcome.error().error), kColumns) + '\n';
  if (outcome.error().exit == Exit::usage) {
    std::cerr << say("Try headwise {}--help.\n", typed_command());
  }
  return static_cast<int>(outcome.error().exit);
}

// Exits at once: other threads may still run, and MPI would wait for the
// missing process.
void give_up(const Error& error) { std::_Exit(report(Outcome(error))); }

int end(const Outcome& outcome) {
  tell_others(outcome);
  const int exit_code = report(outcome);
  leave_job(outcome);
  return exit_code;
}

// After an exception: there may be no memory to say more.
int end_with(ErrorCode code, const char* given = nullptr) {
  try {
    return end(given == nullptr ? Error(code) : Error(code, {.given = given}));
  } catch (...) {
    end_out_of_memory();
  }
}

// Of an exception that nothing can catch any more. Without one, the memory for
// it was missing.
void end_without_handler() {
  if (std::current_exception()) {
    try {
      throw;
    } catch (const std::bad_alloc&) {
    } catch (...) {
      std::abort();
    }
  }
  end_out_of_memory();
}

int run(const std::vector<std::string>& arguments) {
  set_language(language_of(arguments));
  Command chosen;
  const HeadwiseProgram program(chosen);
  const Program::Parsed parsed = program.parse(arguments);
  typed_command() = parsed.command.empty() ? "" : parsed.command + " ";
  if (parsed.error) {
    return report(*parsed.error);
  }
  if (parsed.text || !chosen) {
    return report(print(std::cout, parsed.text.value_or(program.help())));
  }
  return end(chosen({std::cout, std::cerr}));
}

}  // namespace
}  // namespace headwise::cli

int main(int argc, char** argv) {
  namespace cli = headwise::cli;
  cli::handle_signals();
  std::set_terminate(cli::end_without_handler);
  cli::set_give_up(cli::give_up);
  try {
    return cli::run({argv + 1, argv + argc});
  } catch (const std::bad_alloc&) {
    return cli::end_with(headwise::ErrorCode::out_of_memory);
  } catch (const std::exception& unexpected) {
    return cli::end_with(headwise::ErrorCode::bad_data, unexpected.what());
  }
}
