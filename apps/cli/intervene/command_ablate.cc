// headwise ablate
// What a model does without some of its heads.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ablation_report.h"
#include "headwise/heads/ablation.h"
#include "headwise/heads/hooked_model.h"
#include "headwise/interop/file_subject.h"
#include "headwise/train/labelled_text.h"
#include "hooked_input.h"
#include "intervention_flags.h"
#include "operation/models/unknown_tokens.h"
#include "operation/option_errors.h"
#include "shell/add_command.h"
#include "shell/error_of_option.h"
#include "shell/file_plan.h"
#include "shell/models/head_list.h"
#include "shell/models/read_labelled.h"
#include "shell/output.h"
#include "shell/progress_bar.h"
#include "shell/read_text.h"
#include "shell/threads.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kAblateHelp = {
    .name = "ablate",
    .description = "measure what a model does without some of its heads",
    .examples =
        R"(  headwise ablate --model topics --data test.tsv --heads 3.1,4.5
  headwise ablate --model topics --data test.tsv --each --replace mean
  headwise ablate --model all-MiniLM-L6-v2 --data lines.txt --each --csv
  headwise ablate --model topics --data test.tsv --pairs --heads 3.1,4.5,4.7)",
    .footer =
        R"(FILE has one example per line: label<TAB>text, or text alone. With labels the
effects are those on loss and accuracy of the model's classifier (headwise train
--model). Without labels they are the distances that embeddings move, divided by
their lengths; for a language model, loss and accuracy of the next token, also
on repeats only: tokens that continue an earlier occurrence of the same token.
--sort takes loss, accuracy, loss_on_repeats, accuracy_on_repeats or distance.
What replaces the output of a head, before the output projection:
  zero     0, as head gates of 0 do
  mean     its mean over all tokens of FILE
  uniform  the mean of its values: equal attention to every visible token
The interaction of a pair is its effect minus the effects of both heads alone;
--pairs shows that of --sort, largest first.
Effects are paired by example; intervals are Student's t intervals.)"};

struct AblateFlags : InterventionFlags {
  std::string data;
  std::string heads;
  std::string replace = "zero";
  std::string sort;          // empty: by loss or distance
  std::size_t examples = 0;  // 0: all
  bool each = false;
  bool pairs = false;
};

using enum OptionRule::Kind;

constexpr OptionRule kAblateRules[] = {{"", always, "--heads|--each|--pairs",
                                        "expected --heads, --each or --pairs"},
                                       {"--each", apart, "--pairs"},
                                       {"--json", apart, "--csv"}};

// ---- What is ablated. ----

Result<std::vector<HeadId>> chosen_heads(const AblateFlags& flags,
                                         const HookedModel& model) {
  const HeadsLeft left = model.heads();
  if (!flags.heads.empty()) {
    HEADWISE_ASSIGN(auto heads, parse_head_list("--heads", flags.heads));
    HEADWISE_TRY(check_heads("--heads", heads, left));
    return heads;
  }
  std::vector<HeadId> all;
  for (std::size_t layer = 0; layer < left.size(); ++layer) {
    for (const std::size_t head : left[layer]) {
      all.push_back({layer, head});
    }
  }
  return all;
}

// For pairs also each head alone, first.
Result<std::vector<HeadSet>> sets_of(const AblateFlags& flags,
                                     const HookedModel& model) {
  HEADWISE_ASSIGN(const auto heads, chosen_heads(flags, model));
  if (heads.size() < (flags.pairs ? 2 : 1)) {
    return option_error(flags.heads.empty() ? "--model" : "--heads",
                        heads.size() == 1
                            ? "has 1 head"
                            : message("has {} heads", heads.size()),
                        flags.pairs ? "at least 2" : "at least 1");
  }
  if (!flags.each && !flags.pairs) {
    return std::vector<HeadSet>{heads};
  }
  std::vector<HeadSet> sets;
  for (const HeadId& head : heads) {
    sets.push_back({head});
  }
  for (std::size_t a = 0; flags.pairs && a < heads.size(); ++a) {
    for (std::size_t b = a + 1; b < heads.size(); ++b) {
      sets.push_back({heads[a], heads[b]});
    }
  }
  return sets;
}

// In the order of sets_of().
std::vector<AblatedRow> rows_of(const AblateFlags& flags,
                                std::vector<HeadSet> sets,
                                const AblationScores& scores) {
  std::vector<AblatedRow> rows;
  for (std::size_t n = 0; n < sets.size(); ++n) {
    rows.push_back(
        {std::move(sets[n]), effect_of(scores.whole, scores.ablated[n]), {}});
  }
  if (!flags.pairs) {
    return rows;
  }
  std::size_t singles = 0;
  while (singles < rows.size() && rows[singles].heads.size() == 1) {
    ++singles;
  }
  std::size_t pair = singles;
  for (std::size_t a = 0; a < singles; ++a) {
    for (std::size_t b = a + 1; b < singles; ++b, ++pair) {
      rows[pair].interaction =
          interaction_of(scores.whole, scores.ablated[a], scores.ablated[b],
                         scores.ablated[pair]);
    }
  }
  return rows;
}

// ---- What it is measured on. ----

struct AblateSubject {
  HookedInput model;
  std::vector<std::int64_t> targets{};  // of labelled texts
  std::size_t max_tokens = 0;
  std::size_t cut = 0;  // texts of which tokens were cut off
  RaggedTokens ids{};
  UnknownTokens tokens{};
};

Result<AblateSubject> read_ablate_subject(const AblateFlags& flags,
                                          const LabelledText& text) {
  HEADWISE_ASSIGN(
      auto model,
      HookedInput::read(flags.model, text.labelled() ? WithClassifier::required
                                                     : WithClassifier::none));
  AblateSubject subject{std::move(model)};
  if (subject.model.language() != nullptr && text.labelled()) {
    return option_error("--data", "has labels",
                        "text alone for a language model");
  }
  if (text.labelled()) {
    auto targets = targets_of(text, subject.model.labels());
    if (!targets) {
      return error_of_option("--data", targets.error());
    }
    subject.targets = *std::move(targets);
  }
  HEADWISE_ASSIGN(const auto limit, subject.model.limit(flags.max_tokens));
  subject.max_tokens = limit.tokens;
  for (std::size_t n = 0; n < text.texts.size(); ++n) {
    HEADWISE_ASSIGN(auto tokens,
                    subject.model.encode(text.texts[n], limit.tokens));
    if (tokens.ids.empty()) {
      return FileSubject{"", text.file, fmt::format("line {}", text.line_of(n))}
          .bad_data("has no tokens");
    }
    subject.cut += tokens.cut != 0 ? 1 : 0;
    subject.tokens.add(subject.model, tokens.ids);
    subject.ids.push_back(std::move(tokens.ids));
  }
  return subject;
}

std::vector<EffectMeasure> measures_on(const AblateSubject& subject) {
  const bool causal = subject.model.language() != nullptr;
  return measures_of(causal || !subject.targets.empty(), causal);
}

Result<EffectMeasure> sorted_by(const AblateFlags& flags,
                                const std::vector<EffectMeasure>& measures) {
  if (flags.sort.empty()) {
    return measures.front();
  }
  std::vector<std::string_view> names;
  for (const EffectMeasure measure : measures) {
    if (name_of(measure) == flags.sort) {
      return measure;
    }
    names.push_back(name_of(measure));
  }
  return bad_option(
      "--sort", flags.sort,
      names.size() == 1
          ? std::string{names.front()}
          : message("one of {}", fmt::format("{}", fmt::join(names, ", "))));
}

// The scores that the effects are computed from.
ScoreExamples scores_of(const AblateSubject& subject,
                        const HookedModel& model) {
  if (const LanguageModel* const model_of_tokens = subject.model.language()) {
    return next_token_losses(*model_of_tokens);
  }
  return subject.targets.empty() ? output_distances(model)
                                 : label_scores(model, subject.targets);
}

// Whether an example has a loss or a distance at all.
Status check_measured(const AblateSubject& subject,
                      const ExampleScores& whole) {
  if (mean_interval(whole.loss).count != 0) {
    return ok();
  }
  const bool too_short = subject.model.language() != nullptr &&
                         std::ranges::all_of(subject.ids, [](const auto& ids) {
                           return ids.size() == 1;
                         });
  return too_short
             ? option_error("--data", "has only texts of 1 token",
                            "at least 2, the second of which is predicted",
                            ErrorCode::bad_data)
             : option_error("--model", "gives outputs that are NaN or infinite",
                            "finite outputs", ErrorCode::bad_data);
}

// The scores with all heads themselves.
AblationEffect whole_of(const ExampleScores& whole) {
  AblationEffect means{mean_interval(whole.loss), mean_interval(whole.correct)};
  means.loss_on_repeats = mean_interval(whole.loss_on_repeats);
  means.accuracy_on_repeats = mean_interval(whole.correct_on_repeats);
  return means;
}

Result<AblationReport> measure(const AblateFlags& flags,
                               const AblateSubject& subject,
                               const Executor& executor) {
  const HookedModel& model = subject.model.model();
  HEADWISE_ASSIGN(auto sets, sets_of(flags, model));
  auto measures = measures_on(subject);
  HEADWISE_ASSIGN(const auto sort, sorted_by(flags, measures));
  const auto scores = [&] {
    ProgressBar bar{"ablate", "examples"};
    return ablate({model, subject.ids, scores_of(subject, model)}, sets,
                  {.replacement = *replacement(flags.replace),
                   .progress = bar.progress(),
                   .executor = &executor});
  }();
  if (!scores && scores.error().details().argument == "ids") {
    const ErrorDetails& details = scores.error().details();
    return option_error("--data", details.given, details.expected);
  }
  HEADWISE_TRY(scores);
  HEADWISE_TRY(check_measured(subject, scores->whole));
  AblationReport report{.model = flags.model,
                        .data = name_of_text(flags.data),
                        .replacement = *replacement(flags.replace),
                        .max_tokens = subject.max_tokens,
                        .cut = subject.cut,
                        .unknown = subject.tokens.unknown,
                        .measures = std::move(measures),
                        .sorted_by = sort,
                        .whole = whole_of(scores->whole),
                        .rows = rows_of(flags, std::move(sets), *scores)};
  sort_rows(report);
  return report;
}

Outcome run_ablate(const AblateFlags& flags, const Streams& streams) {
  HEADWISE_TRY(flags.line.check(kAblateRules));
  FilePlan files = flags.line.files();
  files.printed("ablate");
  HEADWISE_TRY(files.check());
  if (!flags.heads.empty()) {
    HEADWISE_TRY(parse_head_list("--heads", flags.heads));
  }
  HEADWISE_ASSIGN(const auto executor, executor_with(flags.threads));
  HEADWISE_ASSIGN(auto text, read_labelled("--data", flags.data));
  const LabelledText examples =
      spread_examples(std::move(text), flags.examples);
  HEADWISE_ASSIGN(const auto subject, read_ablate_subject(flags, examples));
  HEADWISE_ASSIGN(const auto report, measure(flags, subject, executor));
  warn_of_unknown(flags.model, subject.tokens, streams.err);
  return print(streams.out, report_text(flags, report, ablation_table,
                                        ablation_json, ablation_csv));
}

void add_ablate_options(const Arguments& command, AblateFlags& flags) {
  add_model_option(command, flags);
  command.add(
      {{"--data", &flags.data, input_file("FILE|-"),
        "one example per line: label<TAB>text, or text alone", required()},
       {"--heads", &flags.heads, text("LIST"),
        "ablate these heads together, such as 3.1,4.5; with --each or --pairs: "
        "only these heads"},
       {"--each", &flags.each, flag(), "ablate each head by itself"},
       {"--pairs", &flags.pairs, flag(),
        "ablate each pair of heads, and show how they interact"},
       {"--replace", &flags.replace,
        choice({kReplacementNames.begin(), kReplacementNames.end()}),
        "what replaces a head (default: zero); see below"},
       // The list of all names would not fit in a line.
       {"--sort", &flags.sort, choice(effect_measure_names(), "EFFECT"),
        "sort by this effect, most harmful first (default: loss or distance); "
        "see below"},
       {"--examples", &flags.examples, count(),
        "number of examples to use, spread over the file (default: all)"}});
  add_report_options(command, flags);
}

}  // namespace

void add_ablate(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kAblateHelp, add_ablate_options, run_ablate);
}

}  // namespace headwise::cli
