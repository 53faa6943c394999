// Options that ablate and patch share.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "shell/args.h"

namespace headwise::cli {

struct InterventionFlags {
  CommandLine line;
  std::string model;
  std::optional<std::size_t> max_tokens;  // not given: the model's
  std::size_t top = 0;                    // 0: not given
  std::size_t threads = 0;                // 0: all
  bool json = false;
  bool csv = false;
};

// --model
void add_model_option(const Arguments& command, InterventionFlags& flags);
// --top, --max-tokens, --threads, --json and --csv.
void add_report_options(const Arguments& command, InterventionFlags& flags);

// A report as the options ask for it. Each writer takes the report and how many
// rows it shows at most.
template <class Report>
using WriteReport = std::string (*)(const Report& report, std::size_t top);
inline constexpr std::size_t kTopRows = 20;  // of a table

template <class Report>
std::string report_text(const InterventionFlags& flags, const Report& report,
                        WriteReport<Report> table, WriteReport<Report> json,
                        WriteReport<Report> csv) {
  const auto all = static_cast<std::size_t>(-1);
  const std::size_t top = flags.top == 0 ? all : flags.top;
  return flags.json  ? json(report, top)
         : flags.csv ? csv(report, top)
                     : table(report, flags.top == 0 ? kTopRows : top);
}

}  // namespace headwise::cli
