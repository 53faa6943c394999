// The command line tool. Results go to standard output, everything else to
// standard error; this is the only file that writes errors and picks the exit
// code.
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
    R"(  headwise explain                  watch a batch go through attention
  headwise explain --model all-MiniLM-L6-v2 "Heads matter."
  headwise view --model all-MiniLM-L6-v2 "The cat sat on the mat." --open
  headwise encode --model all-MiniLM-L6-v2 sentences.txt --out embeddings.npy
  headwise train --model all-MiniLM-L6-v2 --data train.tsv --out topics
  headwise classify --model topics sentences.txt
  headwise prune --model topics --scores scores.json --remove 40% --out smaller
  headwise run --query q.npy --key k.npy --value v.npy --out out.npy)";

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
  Program program("headwise",
                  "Multi-head attention, every step and every head "
                  "visible.",
                  std::string(kExamples), std::string("headwise ") + version());
  Command chosen;
  for (const auto add : {add_explain, add_view, add_stats, add_run, add_encode,
                         add_train, add_classify, add_importance, add_prune,
                         add_inspect, add_convert, add_bench, add_info}) {
    add(program.arguments(), chosen);
  }
  program.add_help_command();
  const Program::Parsed parsed = program.parse(arguments);
  if (parsed.error) {
    return report(usage(*parsed.error));
  }
  if (parsed.text || !chosen) {
    return report(print(std::cout, parsed.text.value_or(program.help())));
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
