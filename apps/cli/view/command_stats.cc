// headwise stats
// What each head does, in numbers: a line a head, from the pass that computes
// attention.
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "shell/add_command.h"
#include "shell/file_plan.h"
#include "shell/output.h"
#include "shell/say.h"
#include "shell/terminal_text.h"
#include "statistic_names.h"
#include "stats_lines.h"
#include "stats_text.h"
#include "viewed_heads.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kHelp = {
    .name = "stats",
    .description = "print what each head does, in numbers",
    .examples =
        R"(  headwise stats --model all-MiniLM-L6-v2 "The cat sat on the mat."
  headwise stats --model all-MiniLM-L6-v2 - --sort previous < page.txt
  headwise stats --query q.npy --key k.npy --causal --csv)",
    .footer =
        R"(Means over the queries that have a key; shares go from 0 to 1:
  entropy    -sum w ln w, in nats: 0 for one key, ln n for n equal weights
  distance   mean distance to the keys, in tokens
  largest    the largest attention weight
  first, previous, self, next, separator   the share of that key
Cross-attention has no distance, previous, self and next.)"};

struct StatsFlags {
  ViewedFlags seen;
  std::string sort;
  bool json = false;
  bool csv = false;
};

Outcome run_stats(const StatsFlags& flags, const Streams& streams) {
  if (flags.json && flags.csv) {
    return usage("--json and --csv cannot be used together");
  }
  FilePlan files;
  plan_inputs(files, flags.seen);
  files.printed("stats");
  HEADWISE_TRY(files.check());
  const auto heads = read_viewed_heads(flags.seen);
  HEADWISE_TRY(heads);
  HEADWISE_TRY(check_sort(flags.sort, (*heads)->text().cross));
  auto stats = compute_head_stats(**heads, flags.seen.operation);
  HEADWISE_TRY(stats);
  if (!flags.sort.empty()) {
    sort_by(flags.sort, stats->lines);
  }
  const ViewedText& seen = (*heads)->text();
  if (flags.json || flags.csv) {
    return print(streams.out,
                 flags.json ? stats_json(seen, *stats) : stats_csv(*stats));
  }
  std::string head;
  if (seen.model) {
    head = say({"{}: {} tokens{}\n\n", "{}: 토큰 {}개{}\n\n"},
               shown(*seen.model), seen.query_labels.size(),
               seen.cut_tokens == 0 ? "" : "; " + cut_text(seen));
  }
  return print(streams.out, head + stats_table(*stats));
}

void add_options(const Arguments& command, StatsFlags& flags) {
  flags.seen.command = "stats";
  add_viewed_options(command, flags.seen);
  command
      .add_choice("--sort", flags.sort, statistic_names(),
                  "sort by this statistic, largest first")
      .type_name("NAME");
  command.add_flag("--json", flags.json, "print JSON");
  command.add_flag("--csv", flags.csv, "print comma-separated values");
}

}  // namespace

void add_stats(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kHelp, add_options, run_stats,
              [](const Arguments& command, StatsFlags& flags) {
                flags.seen.given = command.given_options();
              });
}

}  // namespace headwise::cli
