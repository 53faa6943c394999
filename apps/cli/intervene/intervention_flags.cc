#include "intervention_flags.h"

#include <fmt/format.h>

#include "shell/threads.h"

namespace headwise::cli {

void add_model_option(const Arguments& command, InterventionFlags& flags) {
  command.keep_line(flags.line);
  command.add({{"--model", &flags.model, input_file("DIR|FILE"),
                "a model folder, pruned or not, or a GGUF file", required()}});
}

void add_report_options(const Arguments& command, InterventionFlags& flags) {
  command.add({{"--top", &flags.top, count(),
                fmt::format("number of rows, largest effects first (default: "
                            "{} in the table, all in JSON and CSV)",
                            kTopRows)},
               {"--max-tokens", &flags.max_tokens, number(),
                "maximum tokens per text; longer texts are cut (default: the "
                "limit set in the model folder)"},
               threads_option(flags.threads),
               {"--json", &flags.json, flag(), "print JSON instead of a table"},
               {"--csv", &flags.csv, flag(), "print comma-separated values"}});
}

}  // namespace headwise::cli
