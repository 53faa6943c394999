// What the parsed command line leaves behind: the command to run.
#pragma once

#include <functional>
#include <ostream>

#include "outcome.h"

namespace CLI {
class App;
}

namespace headwise::cli {

struct Streams {
  std::ostream& out;  // results
  std::ostream& err;  // everything else
};
using Command = std::function<Outcome(const Streams&)>;

// Each adds its subcommand; parsing it sets `chosen`.
void add_explain(CLI::App& app, Command& chosen);
void add_run(CLI::App& app, Command& chosen);
void add_encode(CLI::App& app, Command& chosen);
void add_view(CLI::App& app, Command& chosen);
void add_stats(CLI::App& app, Command& chosen);
void add_importance(CLI::App& app, Command& chosen);
void add_prune(CLI::App& app, Command& chosen);
void add_train(CLI::App& app, Command& chosen);
void add_bench(CLI::App& app, Command& chosen);
void add_inspect(CLI::App& app, Command& chosen);
void add_convert(CLI::App& app, Command& chosen);
void add_info(CLI::App& app, Command& chosen);

}  // namespace headwise::cli
