#include "intervention_flags.h"

#include <fmt/format.h>

#include "shell/threads.h"

namespace headwise::cli {

void add_model_option(const Arguments& command, InterventionFlags& flags) {
  command
      .add_text("--model", flags.model, "DIR",
                "a model folder: BERT-family or causal, pruned or not")
      .required();
}

void add_report_options(const Arguments& command, InterventionFlags& flags) {
  command.add_count("--top", flags.top,
                    fmt::format("number of rows, largest effects first "
                                "(default: {} in the table, all in JSON and "
                                "CSV)",
                                kTopRows));
  command.add_number("--max-tokens", flags.max_tokens,
                     "maximum tokens per text; longer texts are cut (default: "
                     "the limit set in the model folder)");
  add_threads_option(command, flags.threads);
  command.add_flag("--json", flags.json, "print JSON instead of a table");
  command.add_flag("--csv", flags.csv, "print comma-separated values");
}

Outcome check_report_flags(const InterventionFlags& flags) {
  return flags.json && flags.csv
             ? Outcome(usage("--json and --csv cannot be used together"))
             : Outcome();
}

}  // namespace headwise::cli
