// headwise patch
// What a head carries from a corrupted text into a clean one.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "headwise/heads/hooked_model.h"
#include "headwise/heads/patching.h"
#include "headwise/interop/file_subject.h"
#include "hooked_input.h"
#include "intervention_flags.h"
#include "operation/models/unknown_tokens.h"
#include "patch_report.h"
#include "shell/add_command.h"
#include "shell/error_of_option.h"
#include "shell/file_plan.h"
#include "shell/models/label_text.h"
#include "shell/output.h"
#include "shell/progress_bar.h"
#include "shell/read_text.h"
#include "shell/threads.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kPatchHelp = {
    .name = "patch",
    .description = "copy heads from a corrupted text into a clean one",
    .examples =
        R"(  headwise patch --model reviews --clean "The film was good." \
      --corrupted "The film was bad."
  headwise patch --model reviews --clean "A good film." \
      --corrupted "A bad film." --label positive --compare
  headwise patch --model all-MiniLM-L6-v2 --clean "The cat sat." \
      --corrupted "The dog sat." --approximate --json)",
    .footer =
        R"(The effect of a head is what changes in the clean text when the head gets its
context from the corrupted text: in every token and, if the texts have the same
number of tokens, up to 64, in one position at a time (activation patching). A
model with a classifier is measured by the log odds of --label, a language model
by those of the next token, any other by how far its embedding moves towards
that of the corrupted text. --approximate takes all effects from one gradient
(attribution patching); it is fast, and exact only where the model is linear.
--compare shows both.)"};

struct PatchFlags : InterventionFlags {
  std::string clean;
  std::string corrupted;
  std::string label;
  bool approximate = false;
  bool compare = false;
  bool heads_only = false;
};

using enum OptionRule::Kind;

constexpr OptionRule kPatchRules[] = {{"--approximate", apart, "--compare"},
                                      {"--json", apart, "--csv"}};

struct PatchSubject {
  HookedInput model;
  std::vector<TokenId> clean{};
  std::vector<TokenId> corrupted{};
};

// The text of one option.
Result<std::vector<TokenId>> ids_of(std::string_view option,
                                    const std::string& text,
                                    const HookedInput& model,
                                    std::size_t max_tokens,
                                    PatchedText& shown) {
  HEADWISE_ASSIGN(auto bytes, text == "-" ? read_text(option, text) : text);
  HEADWISE_TRY(check_utf8(
      FileSubject{std::string(option),
                  text == "-" ? std::string(kStandardInput) : "TEXT"},
      bytes));
  auto tokens = model.encode(bytes, max_tokens);
  if (!tokens) {
    return error_of_option(option, tokens.error());
  }
  if (tokens->ids.empty()) {
    return option_error(option, "has no tokens", "at least 1");
  }
  shown.text = std::move(bytes);
  shown.cut = tokens->cut;
  for (const TokenId id : tokens->ids) {
    shown.tokens.push_back(model.label(id));
  }
  return std::move(tokens->ids);
}

Result<PatchSubject> read_patch_subject(const PatchFlags& flags,
                                        PatchReport& report) {
  HEADWISE_ASSIGN(auto model,
                  HookedInput::read(flags.model, WithClassifier::if_there,
                                    flags.approximate || flags.compare
                                        ? ModelUse::training
                                        : ModelUse::inference));
  PatchSubject subject{std::move(model)};
  HEADWISE_ASSIGN(const auto limit, subject.model.limit(flags.max_tokens));
  HEADWISE_ASSIGN(auto clean, ids_of("--clean", flags.clean, subject.model,
                                     limit.tokens, report.clean));
  HEADWISE_ASSIGN(auto corrupted,
                  ids_of("--corrupted", flags.corrupted, subject.model,
                         limit.tokens, report.corrupted));
  if (clean == corrupted) {
    return option_error("--corrupted", "has the tokens of --clean",
                        "another text");
  }
  subject.clean = std::move(clean);
  subject.corrupted = std::move(corrupted);
  return subject;
}

Result<MeasureOfTexts> measure_of(const PatchFlags& flags,
                                  const HookedInput& model) {
  const std::vector<std::string>& labels = model.labels();
  if (flags.label.empty()) {
    return labels.empty() ? toward_corrupted() : log_odds();
  }
  const auto found = std::ranges::find(labels, flags.label);
  if (found == labels.end()) {
    return option_error(
        "--label", message("is {}", label_text(flags.label)),
        labels.empty() ? "none: the model has no classifier, so effects are on "
                         "its embedding"
                       : message("one of {}", labels_text(labels)));
  }
  return log_odds(static_cast<std::size_t>(found - labels.begin()));
}

Status run_patches(const PatchFlags& flags, const PatchSubject& subject,
                   const Executor& executor, PatchReport& report) {
  report.heads = subject.model.model().heads();
  HEADWISE_ASSIGN(auto measure, measure_of(flags, subject.model));
  const PatchTask task{subject.model.model(), subject.clean, subject.corrupted,
                       std::move(measure)};
  report.too_long = !flags.approximate && !flags.heads_only &&
                    subject.clean.size() > kMostPatchedPositions;
  PatchOptions options{.positions = !flags.heads_only && !report.too_long,
                       .executor = &executor};
  if (!flags.approximate) {
    ProgressBar bar{"patch", "patches"};
    options.progress = bar.progress();
    HEADWISE_ASSIGN(report.exact, patch_heads(task, options));
  }
  if (flags.approximate || flags.compare) {
    HEADWISE_ASSIGN(report.approximate, approximate_patches(task, options));
  }
  if (const auto label = report.effects().label) {
    report.label = subject.model.labels()[*label];
  }
  return ok();
}

Outcome run_patch(const PatchFlags& flags, const Streams& streams) {
  HEADWISE_TRY(flags.line.check(kPatchRules));
  if (flags.clean == "-" && flags.corrupted == "-") {
    return option_error("--clean and --corrupted", "are both -",
                        "one of them to be a text");
  }
  FilePlan files = flags.line.files();
  files.printed("patch");
  HEADWISE_TRY(files.check());
  HEADWISE_ASSIGN(const auto executor, executor_with(flags.threads));
  PatchReport report{.model = flags.model};
  HEADWISE_ASSIGN(const auto subject, read_patch_subject(flags, report));
  if (const Status done = run_patches(flags, subject, executor, report);
      !done) {
    const std::string& argument = done.error().details().argument;
    return argument == "model" || argument == "clean" || argument == "corrupted"
               ? error_of_argument(done.error())
               : done.error();
  }
  UnknownTokens tokens;
  for (const PatchedText* text : {&report.clean, &report.corrupted}) {
    for (const std::string& token : text->tokens) {
      tokens.add(token);
    }
  }
  warn_of_unknown(flags.model, tokens, streams.err);
  return print(streams.out,
               report_text(flags, report, patch_table, patch_json, patch_csv));
}

void add_patch_options(const Arguments& command, PatchFlags& flags) {
  add_model_option(command, flags);
  command.add(
      {{"--clean", &flags.clean, file(FileUse::input_if_dash, "TEXT|-"),
        "the text that is run with a patched head; -: standard input",
        required()},
       {"--corrupted", &flags.corrupted, file(FileUse::input_if_dash, "TEXT|-"),
        "the text that the context of the head comes from", required()},
       {"--label", &flags.label, text("LABEL"),
        "label of the classifier, or next token of a language model (default: "
        "the one predicted for --clean)"},
       {"--approximate", &flags.approximate, flag(),
        "approximate all effects by one gradient"},
       {"--compare", &flags.compare, flag(),
        "show exact and approximate effects"},
       {"--heads-only", &flags.heads_only, flag(),
        "do not patch single positions"}});
  add_report_options(command, flags);
}

}  // namespace

void add_patch(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kPatchHelp, add_patch_options, run_patch);
}

}  // namespace headwise::cli
