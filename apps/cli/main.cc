// The command line tool. Results go to standard output, everything else to
// standard error; this is the only file that writes errors and picks the exit
// code.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "args.h"
#include "command.h"
#include "headwise/version.h"
#include "output.h"

namespace headwise::cli {
namespace {

constexpr std::string_view kExamples =
    R"(  headwise explain                     watch a batch go through attention
  headwise explain --example masked    the same with padding and causal masks
  headwise run --query q.npy --key k.npy --value v.npy --out out.npy
  headwise train --out run             train a small model, see what it learns)";

int report(const Outcome& outcome) {
  if (!outcome) {
    return static_cast<int>(Exit::ok);
  }
  std::cerr << "headwise: " << one_line(outcome->message) << '\n';
  if (outcome->exit == Exit::usage) {
    std::cerr << "Try headwise --help, or headwise COMMAND --help.\n";
  }
  return static_cast<int>(outcome->exit);
}

int run(const std::vector<std::string>& arguments) {
  CLI::App app{"Multi-head attention, every step and every head visible.",
               "headwise"};
  set_examples(app, std::string(kExamples));
  app.set_version_flag("--version", std::string("headwise ") + version());
  app.require_subcommand(0, 1);
  Command chosen;
  add_explain(app, chosen);
  add_run(app, chosen);
  add_encode(app, chosen);
  add_view(app, chosen);
  add_stats(app, chosen);
  add_train(app, chosen);
  add_importance(app, chosen);
  add_prune(app, chosen);
  add_bench(app, chosen);
  add_inspect(app, chosen);
  add_convert(app, chosen);
  add_info(app, chosen);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    const auto commands = app.get_subcommands();
    return report(print(std::cout, commands.empty()
                                       ? app.help()
                                       : commands.front()->help("headwise")));
  } catch (const CLI::CallForVersion& call) {
    return report(print(std::cout, std::string(call.what()) + "\n"));
  } catch (const CLI::ParseError& error) {
    return report(usage(parse_error_text(app, error, arguments)));
  }
  if (!chosen) {
    return report(print(std::cout, app.help()));
  }
  return report(chosen({std::cout, std::cerr}));
}

}  // namespace
}  // namespace headwise::cli

int main(int argc, char** argv) {
  using headwise::cli::Exit;
  // A file-size limit then fails the write, which says so.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return headwise::cli::run({argv + 1, argv + argc});
  } catch (const std::bad_alloc&) {
    std::cerr << "headwise: out of memory\n";
    return static_cast<int>(Exit::out_of_resources);
  } catch (const std::exception& unexpected) {
    std::cerr << "headwise: " << headwise::cli::one_line(unexpected.what())
              << '\n';
    return static_cast<int>(Exit::bad_input);
  }
}
