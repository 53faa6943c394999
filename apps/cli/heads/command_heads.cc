// headwise heads
// The heads of a model, ranked by how well they match a pattern.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "heads_flags.h"
#include "heads_report.h"
#include "headwise/heads/find_heads.h"
#include "operation/models/any_heads.h"
#include "searched_texts.h"
#include "shell/add_command.h"
#include "shell/file_plan.h"
#include "shell/models/read_model.h"
#include "shell/output.h"
#include "shell/progress_bar.h"
#include "shell/threads.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kHelp = {
    .name = "heads",
    .description = "find the heads that match a pattern",
    .examples =
        R"(  headwise heads --find induction --model induction
  headwise heads --find previous --model all-MiniLM-L6-v2 --texts texts.txt
  headwise heads --find duplicate --model all-MiniLM-L6-v2 --json)",
    .footer =
        R"(Patterns; scores go from 0 to 1 and are means over texts:
  previous, next, self, first, separator   attention on that token
  duplicate    on other occurrences of the same token
  induction    on the token after an earlier occurrence of the same token
  positional   attention that depends on the distance alone
Without --texts the texts are random tokens, each text repeated once: in these
only a copy predicts the next token.)"};

std::vector<std::string> pattern_names() {
  std::vector<std::string> names;
  for (std::size_t n = 0; n < kHeadPatterns; ++n) {
    names.emplace_back(name_of(static_cast<HeadPattern>(n)));
  }
  return names;
}

// The option has been checked.
HeadPattern pattern_of(const HeadsFlags& flags) {
  std::size_t n = 0;
  while (name_of(static_cast<HeadPattern>(n)) != flags.find) {
    ++n;
  }
  return static_cast<HeadPattern>(n);
}

using enum OptionRule::Kind;

constexpr OptionRule kRules[] = {{"--json", apart, "--csv"},
                                 {"--seed", excludes, "--texts"},
                                 {"--max-tokens", needs, "--texts"}};

Outcome check_flags(const HeadsFlags& flags) {
  HEADWISE_TRY(flags.line.check(kRules));
  FilePlan plan = flags.line.files();
  plan.printed("the list of heads");
  return plan.check();
}

// Whether the pattern can show in this model and these texts at all.
Status check_pattern(HeadPattern pattern, const TextModel& model) {
  if (pattern == HeadPattern::next && model.shape().causal) {
    return option_error("--find", "is next, but the model is causal",
                        "another pattern: its tokens see none that follow");
  }
  return ok();
}

Status check_texts(HeadPattern pattern, const SearchedTexts& texts) {
  constexpr std::size_t kMost = 2000;  // profiles of each head are kept
  return pattern == HeadPattern::positional && texts.ids.size() > kMost
             ? option_error("--texts",
                            message("has {} texts", texts.ids.size()),
                            message("at most {} with --find positional", kMost),
                            ErrorCode::bad_data)
             : ok();
}

Status check_found(HeadPattern pattern, const FoundHeads& found) {
  if (found.texts != 0) {
    const auto nan = std::ranges::find(
        found.heads, 0u,
        [](const FoundHead& head) { return head.score.count; });
    return nan == found.heads.end()
               ? ok()
               : Status(computes_nan("--model", {nan->layer, nan->head}));
  }
  switch (pattern) {
    case HeadPattern::separator:
      return option_error("--find", "is separator, but no text has one",
                          "a model whose tokenizer adds [SEP] or </s>");
    case HeadPattern::duplicate:
    case HeadPattern::induction:
      return option_error("--texts", "has no token that a text repeats",
                          "texts in which tokens occur again",
                          ErrorCode::bad_data);
    case HeadPattern::positional:
      return option_error("--texts", "has fewer than 2 texts with tokens",
                          "at least 2, whose attention is compared",
                          ErrorCode::bad_data);
    default:
      return option_error("--texts", "has no tokens", {}, ErrorCode::bad_data);
  }
}

Outcome run_heads(const HeadsFlags& flags, const Streams& streams) {
  HEADWISE_TRY(check_flags(flags));
  const HeadPattern pattern = pattern_of(flags);
  HEADWISE_ASSIGN(const auto executor, executor_with(flags.threads));
  HEADWISE_ASSIGN(const auto model, read_any_model(flags.model));
  HEADWISE_TRY(check_has_heads(heads_left(*model)));
  HEADWISE_TRY(check_pattern(pattern, *model));
  HEADWISE_ASSIGN(const auto texts, read_searched_texts(flags, *model));
  HEADWISE_TRY(check_texts(pattern, texts));
  const auto found = [&] {
    ProgressBar bar{"heads", "texts"};
    return find_heads(*model, texts.ids, pattern,
                      {.progress = bar.progress(), .executor = &executor});
  }();
  HEADWISE_TRY(found);
  HEADWISE_TRY(check_found(pattern, *found));
  warn_of_unknown(flags.model, texts.tokens, streams.err);
  const HeadsReport report{flags, texts, pattern, model->shape().causal,
                           *found};
  return print(streams.out, flags.json  ? heads_json(report)
                            : flags.csv ? heads_csv(report)
                                        : heads_table(report));
}

void add_options(const Arguments& command, HeadsFlags& flags) {
  command.keep_line(flags.line);
  // The list of all names would not fit in a line.
  command.add({{"--find", &flags.find, choice(pattern_names(), "PATTERN"),
                "the pattern to find, one of those below", required()},
               {"--model", &flags.model, input_file("DIR|FILE"),
                "a model folder, pruned or not, or a GGUF file", required()},
               {"--texts", &flags.texts, input_file("FILE|-"),
                "one text per line (default: random tokens, repeated)"},
               {"--seed", &flags.seed, number(),
                "seed of the random tokens (default 0)"},
               {"--top", &flags.top, count(),
                "print the best N heads (default: 10 in the table, all with "
                "--json and --csv)"},
               {"--json", &flags.json, printed(), "print JSON"},
               {"--csv", &flags.csv, printed(), "print comma-separated values"},
               {"--max-tokens", &flags.max_tokens, number(),
                "maximum tokens per text; longer texts are cut (default: the "
                "limit set in the model folder)",
                advanced()},
               threads_option(flags.threads)});
}

}  // namespace

void add_heads(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kHelp, add_options, run_heads);
}

}  // namespace headwise::cli
