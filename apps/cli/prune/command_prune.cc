// headwise prune
// A model without the heads that matter least: smaller, faster, and what it
// costs.

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "headwise/models/language_model.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/models/write_model.h"
#include "headwise/prune/pruned_accuracy.h"
#include "headwise/prune/remove_heads.h"
#include "headwise/train/next_token.h"
#include "prune_count.h"
#include "prune_curve.h"
#include "prune_flags.h"
#include "prune_job.h"
#include "prune_report.h"
#include "shell/add_command.h"
#include "shell/error_of_option.h"
#include "shell/file_plan.h"
#include "shell/models/head_list.h"
#include "shell/models/model_out.h"
#include "shell/models/read_model.h"
#include "shell/output.h"
#include "shell/picture_file.h"
#include "shell/progress_bar.h"
#include "shell/say.h"
#include "shell/threads.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kPruneHelp = {
    .name = "prune",
    .description = "remove heads from a model",
    .examples =
        R"(  headwise prune --model topics --scores scores.json --remove 40% --out smaller
  headwise prune --model topics --scores scores.json --max-drop 1% \
      --data test.tsv --out smaller
  headwise prune --model topics --scores scores.json --data test.tsv \
      --curve curve.svg --random 10
  headwise prune --model topics --heads 3.1,4.5 --out without)",
    .footer =
        R"(Heads are removed from the lowest score to the highest (headwise importance).
Every headwise command takes DIR as a model; transformers and other programs
need --export full-size. The constant part of a removed head's output goes into
the output bias. Accuracy is measured on --data with the model's classifier
(headwise train --model), of a language model without one as the perplexity and
the share of right next tokens, each text counting the same; without labels the
report says how far the embeddings of other models move.
To resume an interrupted --max-drop or --curve, run the same command again.)"};

// ---- How many. ----

Result<std::size_t> heads_to_remove(const PruneJob& job) {
  const PruneFlags& flags = job.flags();
  const std::vector<HeadId>& order = job.scores().importance.order;
  if (!flags.heads.empty()) {
    const auto chosen = parse_head_list("--heads", flags.heads);
    return chosen ? Result<std::size_t>(chosen->size()) : chosen.error();
  }
  if (flags.max_drop.empty()) {
    return count_to_remove(flags, order.size());
  }
  HEADWISE_ASSIGN(const auto drop, largest_drop(flags));
  PrunedAccuracy accuracy = job.accuracy();
  HEADWISE_TRY(accuracy.keep_in(job.journal(flags.out)));
  ProgressBar bar{"prune", "heads"};
  const Progress progress = bar.progress();
  auto found = most_heads_within(
      drop, order, accuracy, [&](std::size_t count, double measured) {
        if (progress) {
          bar.set_note(say("accuracy={:.3f}", measured));
          progress(count, order.size());
        }
      });
  if (found) {
    accuracy.remove_journal();
  }
  return found;
}

// ---- The model. ----

Status correct(const PruneJob& job, Transformer& pruned) {
  ProgressBar bar{"correct", "layers"};
  return correct_on_texts(pruned, job.model().encoder, job.text()->texts,
                          job.text_options(bar.progress()));
}

Result<SentenceClassifier> pruned_model(const PruneJob& job,
                                        std::size_t count) {
  HEADWISE_ASSIGN(auto model, read_classifier(job.flags().model));
  Transformer& encoder = model.encoder.encoder();
  const auto heads = std::span(job.scores().importance.order).first(count);
  if (Status s = remove_heads(encoder, heads, job.constant()); !s) {
    return job.flags().heads.empty() ? s.error()
                                     : error_of_option("--heads", s.error());
  }
  if (job.flags().correct) {
    HEADWISE_TRY(correct(job, encoder));
  }
  return model;
}

// ---- The report. ----

// Of each text's two embeddings.
Result<double> mean_cosine_of(const PruneJob& job,
                              const SentenceEncoder& pruned) {
  const auto encode = [&](const SentenceEncoder& encoder, const char* label) {
    ProgressBar bar{label, "texts"};
    return encoder.encode(job.text()->texts, job.text_options(bar.progress()));
  };
  HEADWISE_ASSIGN(const auto before, encode(job.model().encoder, "before"));
  HEADWISE_ASSIGN(const auto after, encode(pruned, "after"));
  return mean_cosine(before.embeddings.view(), after.embeddings.view());
}

Status measure_next_tokens(const PruneJob& job, PruneReport& report) {
  HEADWISE_ASSIGN(
      const auto tokens,
      job.model().encoder.tokenize(job.text()->texts, job.text_options()));
  const auto scores =
      [&](const std::string& folder) -> Result<std::vector<NextTokenScore>> {
    HEADWISE_ASSIGN(const auto model, read_language(folder));
    report.tokens = {};
    for (const auto& ids : tokens.ids) {
      report.tokens.add(*model, ids);
    }
    return next_token_scores(*model, tokens.ids, {.executor = &job.executor()});
  };
  HEADWISE_ASSIGN(const auto before, scores(job.flags().model));
  HEADWISE_ASSIGN(const auto after, scores(job.flags().out));
  report.next_tokens = next_tokens_between(before, after);
  return ok();
}

Status measure_accuracy(const PruneJob& job, const SentenceClassifier& pruned,
                        PruneReport& report) {
  report.why_no_accuracy = job.why_no_accuracy();
  if (!job.text()) {
    return ok();
  }
  if (report.why_no_accuracy && is_language_model(job.flags().model)) {
    return measure_next_tokens(job, report);
  }
  if (report.why_no_accuracy) {
    HEADWISE_ASSIGN(report.cosine, mean_cosine_of(job, pruned.encoder));
    return ok();
  }
  const LabelProbe& probe = *job.model().probe;
  const auto answers = [&](const SentenceEncoder& encoder, const char* label) {
    ProgressBar bar{label, "texts"};
    return answers_of(encoder, probe, *job.text(),
                      job.text_options(bar.progress()));
  };
  HEADWISE_ASSIGN(auto before, answers(job.model().encoder, "before"));
  HEADWISE_ASSIGN(auto after, answers(pruned.encoder, "after"));
  report.before = std::move(before);
  report.after = std::move(after);
  return ok();
}

// `pruned` has the heads that stayed, `written` is what the folder holds.
Result<PruneReport> report_of(const PruneJob& job, const Transformer& pruned,
                              const SentenceClassifier& written) {
  constexpr std::size_t kMostTokens = 128;
  const Transformer& before = job.model().encoder.encoder();
  const Transformer& after = written.encoder.encoder();
  PruneReport report{.out = job.flags().out,
                     .method = job.scores().method,
                     .corrected = job.flags().correct,
                     .full_size = job.flags().full_size()};
  const ModelSettings& settings = job.model().encoder.settings();
  HEADWISE_ASSIGN(const auto bytes_before,
                  params_bytes(settings.transformer_folder));
  HEADWISE_ASSIGN(const auto bytes_after, params_bytes(job.flags().out));
  report.sizes = {job.scores().importance.order.size(), 0, bytes_before,
                  bytes_after};
  for (std::size_t n = 0; n < after.shape().num_layers; ++n) {
    report.kept.push_back(pruned.heads_in(n).size());
    report.sizes.heads_after += report.kept.back();
  }
  HEADWISE_TRY(measure_accuracy(job, written, report));
  const std::size_t tokens =
      std::min({kMostTokens, settings.max_tokens,
                job.text_options().max_tokens.value_or(kMostTokens)});
  ProgressBar bar{"timing", "rounds"};
  HEADWISE_ASSIGN(report.times, measure_times(before, after, tokens,
                                              job.executor(), bar.progress()));
  return report;
}

// Zeroed heads are still computed, so the folder is measured as it is written.
Result<PruneReport> report_of_folder(const PruneJob& job,
                                     const SentenceClassifier& pruned) {
  const Transformer& encoder = pruned.encoder.encoder();
  if (!job.flags().full_size()) {
    return report_of(job, encoder, pruned);
  }
  const auto written = SentenceClassifier::read(job.flags().out);
  return written ? report_of(job, encoder, *written)
                 : Result<PruneReport>(written.error());
}

// ---- The command. ----

FilePlan prune_files(const PruneFlags& flags) {
  FilePlan plan = flags.line.files();
  if (!flags.curve.empty()) {
    plan.journal("--curve", Journal::path_of(flags.curve));
  } else if (!flags.max_drop.empty()) {
    plan.journal("--out", Journal::path_of(flags.out), /*parents=*/true);
  }
  return plan;
}

Outcome check_files(const PruneFlags& flags, const FilePlan& files) {
  HEADWISE_TRY(files.check());
  return flags.out.empty() ? Outcome()
                           : check_model_out({.folder = flags.out,
                                              .source = flags.model,
                                              .force = flags.force,
                                              .replaces_models = true});
}

Outcome run_curve(const PruneJob& job, const FilePlan& files,
                  const Streams& streams) {
  HEADWISE_ASSIGN(const auto curve, measure_curve(job));
  HEADWISE_TRY(write_picture(
      job.flags().curve, [&](double) { return curve_picture(job, curve); }));
  return job.flags().json
             ? print(streams.out, curve_json(job, curve))
             : files.print_summary(streams, curve_text(job, curve));
}

Outcome run_prune(const PruneFlags& flags, const Streams& streams) {
  if (!flags.out.empty()) {
    recover_model(flags.out);  // before the files are looked at
  }
  const FilePlan files = prune_files(flags);
  HEADWISE_TRY(check_files(flags, files));
  HEADWISE_ASSIGN(const auto executor, executor_with(flags.threads));
  HEADWISE_ASSIGN(const auto job, PruneJob::create(flags, executor));
  if (!flags.curve.empty()) {
    return run_curve(job, files, streams);
  }
  HEADWISE_ASSIGN(const auto count, heads_to_remove(job));
  HEADWISE_ASSIGN(const auto pruned, pruned_model(job, count));
  HEADWISE_TRY(written(write_pruned(
      flags.model, flags.out, pruned.encoder.encoder(),
      {.full_size = flags.full_size(), .keep_other_files = flags.force})));
  HEADWISE_ASSIGN(const auto report, report_of_folder(job, pruned));
  warn_of_unknown(flags.model, report.tokens, streams.err);
  return print(streams.out, flags.json ? json_of(report) : text_of(report));
}

void add_amounts(const Arguments& amounts, PruneFlags& flags) {
  amounts.add({{"--heads", &flags.heads, text("LIST"),
                "remove these heads, such as 3.1,4.5; without --scores"},
               {"--keep", &flags.keep, number(), "keep this number of heads"},
               {"--remove", &flags.remove, text("N|P%"),
                "remove this number or share of all heads"},
               {"--max-drop", &flags.max_drop, text("P%"),
                "remove as many heads as possible while accuracy on --data "
                "drops by at most this many percentage points"}});
}

void add_files(const Arguments& command, PruneFlags& flags) {
  command.add({{"--model", &flags.model, input_file("DIR"), "a model folder",
                required()},
               {"--scores", &flags.scores, input_file("FILE.json"),
                "scores of this model, from headwise importance"},
               {"--data", &flags.data, input_file("FILE|-"),
                "texts to measure accuracy on, one per line: label<TAB>text, "
                "or text alone"},
               {"--out", &flags.out, file(FileUse::replaced_folder, "DIR"),
                "write the pruned model to this folder; a model already there "
                "is replaced"},
               {"--export", &flags.export_as, choice({"pruned", "full-size"}),
                "pruned (default): without the removed heads, for headwise; "
                "full-size: removed heads are zeros, so transformers can load "
                "the folder, but it is not smaller or faster"},
               {"--curve", &flags.curve, picture("FILE.svg|FILE.png"),
                "instead of writing a model, plot the accuracy as heads are "
                "removed in steps of 10%"}});
}

void add_prune_options(const Arguments& command, PruneFlags& flags) {
  command.keep_line(flags.line);
  add_files(command, flags);
  add_amounts(command.under("Number of heads"), flags);
  command.add(
      {{"--correct", &flags.correct, flag(),
        "fit the output projections to the outputs of the unpruned model on "
        "--data, by least squares",
        advanced()},
       {"--drop-constant", &flags.drop_constant, flag(),
        "do not add the constant part of removed heads to the output bias",
        advanced()},
       {"--random", &flags.random, number(),
        "with --curve: number of random orders for comparison (default 0)",
        advanced()},
       {"--seed", &flags.seed, number(),
        "seed of the random orders (default 0)", advanced()},
       {"--max-tokens", &flags.max_tokens, count(),
        "maximum tokens per text (default: the model's limit)"},
       threads_option(flags.threads),
       {"--force", &flags.force, flag(),
        "write to --out even if it holds other files (kept)"},
       {"--json", &flags.json, printed(), "print JSON"}});
}

}  // namespace

void add_prune(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kPruneHelp, add_prune_options, run_prune);
}

}  // namespace headwise::cli
