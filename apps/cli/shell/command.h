// What the parsed command line leaves behind: the command to run.
#pragma once

#include <functional>
#include <ostream>

#include "outcome.h"

namespace headwise::cli {

class Arguments;

struct Streams {
  std::ostream& out;  // results
  std::ostream& err;  // everything else
};
using Command = std::function<Outcome(const Streams&)>;

// Each adds its subcommand; parsing it sets `chosen`.
void add_explain(const Arguments& app, Command& chosen);
void add_run(const Arguments& app, Command& chosen);
void add_encode(const Arguments& app, Command& chosen);
void add_tokenize(const Arguments& app, Command& chosen);
void add_forward(const Arguments& app, Command& chosen);
void add_generate(const Arguments& app, Command& chosen);
void add_classify(const Arguments& app, Command& chosen);
void add_view(const Arguments& app, Command& chosen);
void add_stats(const Arguments& app, Command& chosen);
void add_heads(const Arguments& app, Command& chosen);
void add_importance(const Arguments& app, Command& chosen);
void add_prune(const Arguments& app, Command& chosen);
void add_ablate(const Arguments& app, Command& chosen);
void add_patch(const Arguments& app, Command& chosen);
void add_train(const Arguments& app, Command& chosen);
void add_check(const Arguments& app, Command& chosen);
void add_onnx_run(const Arguments& app, Command& chosen);
void add_diff(const Arguments& app, Command& chosen);
void add_lint_mask(const Arguments& app, Command& chosen);
void add_plan(const Arguments& app, Command& chosen);
void add_bench(const Arguments& app, Command& chosen);
void add_inspect(const Arguments& app, Command& chosen);
void add_convert(const Arguments& app, Command& chosen);
void add_info(const Arguments& app, Command& chosen);

}  // namespace headwise::cli
