// headwise stats
// What each head does, in numbers: a line a head, from the pass that computes
// attention.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "attribution.h"
#include "corpus_stats.h"
#include "headwise/interop/atomic_file.h"
#include "headwise/interop/journal.h"
#include "shell/add_command.h"
#include "shell/file_plan.h"
#include "shell/output.h"
#include "shell/quantity_text.h"
#include "shell/ranks/deadline.h"
#include "shell/ranks/rank_job.h"
#include "shell/say.h"
#include "shell/terminal_text.h"
#include "shell/visible_work.h"
#include "statistic_names.h"
#include "stats_lines.h"
#include "stats_text.h"
#include "text_stats.h"
#include "two_models.h"
#include "viewed_heads.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kStatsHelp = {
    .name = "stats",
    .description = "print what each head does, in numbers",
    .examples =
        R"(  headwise stats --model all-MiniLM-L6-v2 "The cat sat on the mat."
  headwise stats --model all-MiniLM-L6-v2 - --sort previous < page.txt
  headwise stats --model topics --attribution gradient "Rates rise."
  headwise stats --onnx layer.onnx --data test_data_set_0
  headwise stats --query q.npy --key k.npy --causal --csv
  headwise stats --attn-weights attentions.npz
  headwise stats --model all-MiniLM-L6-v2 --corpus sentences.txt --out stats.txt
  headwise stats --model all-MiniLM-L6-v2 --texts sentences.txt
  headwise stats --model tuned --against base --texts sentences.txt
  mpirun -n 8 headwise stats --model all-MiniLM-L6-v2 --corpus sentences.txt \
      --json --out stats.json)",
    .footer =
        R"(Means over the queries that have a key; shares go from 0 to 1:
  entropy    -sum w ln w, in nats: 0 for one key, ln n for n equal weights
  distance   mean distance to the keys, in tokens
  largest    the largest attention weight
  first, previous, self, next, separator   the share of that key
Cross-attention has no distance, previous, self and next.
--attribution adds a number for each head or each token.
With --texts each text counts once, and each mean has a 95% confidence interval.
With --corpus the means are over the tokens of all sentences. Under mpirun the
processes divide the sentences; the numbers are the same. To resume an
interrupted run with --out, run the same command again.
With --against: means over texts of --model minus --against, and how similar
the attention maps are, from 0 to 1 for equal maps, with their 95% confidence
interval; * = the 95% confidence interval excludes 0.)"};

struct StatsFlags {
  ViewedFlags seen;
  CorpusFlags corpus;
  AttributionFlags attribution;
  std::string sort;
  bool json = false;
  bool csv = false;
};

std::vector<std::string> sort_names() {
  std::vector<std::string> names = statistic_names();
  const auto columns = attribution_columns();
  names.insert(names.end(), columns.begin(), columns.end());
  return names;
}

Outcome print_or_write(const StatsFlags& flags, const Streams& streams,
                       const std::string& text) {
  return flags.corpus.out.empty()
             ? print(streams.out, text)
             : written(write_file_atomically(flags.corpus.out, text));
}

FilePlan stats_files(const StatsFlags& flags) {
  FilePlan files = flags.seen.line.files();
  if (flags.corpus.out.empty()) {
    files.printed("stats");
  } else if (!flags.corpus.corpus.empty()) {
    files.journal("--out", Journal::path_of(flags.corpus.out));
  }
  return files;
}

Outcome run_on_one_text(const StatsFlags& flags, const Streams& streams) {
  HEADWISE_TRY(stats_files(flags).check());
  HEADWISE_ASSIGN(const auto heads, read_viewed_heads(flags.seen));
  HEADWISE_TRY(check_sort(flags.sort, heads->text().cross));
  HEADWISE_ASSIGN(auto stats, compute_head_stats(*heads, flags.seen.operation,
                                                 flags.attribution));
  if (!flags.sort.empty()) {
    sort_by(flags.sort, stats);
  }
  warn_of_unknown({&heads, 1}, streams.err);
  const ViewedText& seen = heads->text();
  if (seen.uneven) {
    streams.err << seen.uneven->nan;
  }
  if (const std::string uneven = uneven_text(seen); !uneven.empty()) {
    streams.err << uneven << '\n' << std::flush;
  }
  if (flags.json || flags.csv) {
    return print_or_write(
        flags, streams,
        flags.json ? stats_json(seen, stats) : stats_csv(seen, stats));
  }
  std::string head;
  if (!seen.nodes.empty()) {
    head =
        fmt::format("{}: {}\n\n", shown(*seen.model), nodes_text(seen.nodes));
  } else if (seen.model) {
    head = say("{0}: {1} token{3}{2}\n\n", shown(*seen.model),
               seen.query_labels.size(),
               seen.cut_tokens == 0 ? "" : "; " + cut_text(seen),
               plural(seen.query_labels.size()));
  }
  return print_or_write(flags, streams,
                        head + stats_table(stats) +
                            attribution_text(seen, stats) +
                            (seen.read.empty() ? "" : "\n" + seen.read));
}

Outcome run_on_two_models(const StatsFlags& flags, const Streams& streams) {
  HEADWISE_TRY(stats_files(flags).check());
  HEADWISE_ASSIGN(const auto models,
                  compare_two_models(flags.seen, flags.sort));
  return print_or_write(flags, streams,
                        flags.json  ? against_json(models)
                        : flags.csv ? against_csv(models)
                                    : against_text(models));
}

Outcome run_on_texts(const StatsFlags& flags, const Streams& streams) {
  HEADWISE_TRY(check_text_stats_flags(flags.seen));
  HEADWISE_TRY(stats_files(flags).check());
  HEADWISE_ASSIGN(const auto stats,
                  compute_text_stats(flags.seen, flags.seen.texts, flags.sort));
  warn_of_unknown(stats.model, stats.tokens, streams.err);
  return print_or_write(flags, streams,
                        flags.json  ? text_stats_json(stats)
                        : flags.csv ? text_stats_csv(stats)
                                    : text_stats_table(stats));
}

std::string corpus_head(const CorpusText& text) {
  std::string head =
      say("{0}: {1} sentence{4}, {2} token{5} of {3}\n", shown(text.corpus),
          text.sentences, text.tokens, shown(text.model),
          plural(text.sentences), plural(text.tokens));
  if (text.empty != 0) {
    head += say("{0} sentence{1} empty\n", text.empty,
                text.empty == 1 ? " is" : "s are");
  }
  if (text.cut != 0) {
    head +=
        say("{0} sentence{2} had more than {1} tokens; the rest was cut off\n",
            text.cut, text.max_tokens, plural(text.cut));
  }
  return head + "\n";
}

std::string corpus_text(const StatsFlags& flags, const CorpusStats& stats) {
  if (flags.json) {
    return stats_json(stats);
  }
  return flags.csv ? stats_csv(stats.heads)
                   : corpus_head(stats.text) + stats_table(stats.heads);
}

Outcome run_on_corpus(const StatsFlags& flags, const Streams& streams) {
  HEADWISE_ASSIGN(const auto joined,
                  join_job(longest_wait(flags.corpus.deadline)));
  Communicator& group = *joined;
  HEADWISE_TRY(agreed(group, stats_files(flags).check()));
  HEADWISE_TRY(agreed(group, check_sort(flags.sort, /*cross=*/false)));
  CorpusStats stats;
  HEADWISE_TRY(compute_corpus_stats(group, flags.seen, flags.corpus, stats));
  if (group.rank() != 0) {
    return agreed(group, Outcome());
  }
  if (!flags.sort.empty()) {
    sort_by(flags.sort, stats.heads);
  }
  const auto report = [&]() -> Outcome {
    HEADWISE_TRY(check_numbers("--model", stats.heads.lines));
    return print_or_write(flags, streams, corpus_text(flags, stats));
  };
  HEADWISE_TRY(agreed(group, work_visibly(&group, report)));
  remove_journal(flags.corpus);
  return {};
}

Outcome run_stats(const StatsFlags& flags, const Streams& streams) {
  static constexpr OptionRule kRules[] = {
      {"--json", OptionRule::apart, "--csv"}};
  HEADWISE_TRY(flags.seen.line.check(kRules));
  HEADWISE_TRY(check_attribution_flags(flags.seen));
  HEADWISE_TRY(check_corpus_flags(flags.seen));
  HEADWISE_TRY(check_against_flags(flags.seen));
  if (!flags.seen.against.empty()) {
    return run_on_two_models(flags, streams);
  }
  if (!flags.seen.texts.empty()) {
    return run_on_texts(flags, streams);
  }
  return flags.corpus.corpus.empty() ? run_on_one_text(flags, streams)
                                     : run_on_corpus(flags, streams);
}

void add_stats_options(const Arguments& command, StatsFlags& flags) {
  flags.seen.command = "stats";
  add_viewed_options(command, flags.seen);
  command.under("A model and a text")
      .add({{"--corpus", &flags.corpus.corpus, input_file("FILE|-"),
             "one sentence per line: the means over all of them"},
            {"--texts", &flags.seen.texts, input_file("FILE|-"),
             "one text per line, in place of TEXT: means over the texts with "
             "95% confidence intervals"}});
  add_against_options(command, flags.seen);
  add_attribution_options(command, flags.attribution);
  command.add({{"--sort", &flags.sort, choice(sort_names(), "NAME"),
                "sort by this statistic, largest first; by norm, gradient, "
                "integrated or integrated-by-layer with that --attribution"},
               {"--json", &flags.json, flag(), "print JSON"},
               {"--csv", &flags.csv, flag(), "print comma-separated values"},
               {"--out", &flags.corpus.out, output_file("FILE"),
                "write the result to this file (default: print it)"},
               flags.corpus.save_every.option(),
               deadline_option(flags.corpus.deadline)});
}

}  // namespace

void add_stats(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kStatsHelp, add_stats_options, run_stats);
}

}  // namespace headwise::cli
