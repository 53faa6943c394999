// headwise prune
// A model without the heads that matter least: smaller, faster, and what it
// costs.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headwise/interop/atomic_file.h"
#include "headwise/models/write_model.h"
#include "headwise/prune/correct_outputs.h"
#include "headwise/prune/full_size.h"
#include "interop/find_params.h"
#include "interop/new_folder.h"
#include "interop/param_file.h"
#include "prune_count.h"
#include "prune_curve.h"
#include "prune_flags.h"
#include "prune_job.h"
#include "prune_report.h"
#include "shell/args.h"
#include "shell/command.h"
#include "shell/file_plan.h"
#include "shell/model_out.h"
#include "shell/output.h"
#include "shell/progress_bar.h"

namespace headwise::cli {
namespace {

constexpr std::string_view kExamples =
    R"(  headwise prune --model topics --scores scores.json --remove 40% --out smaller
  headwise prune --model topics --scores scores.json --max-drop 1% \
      --data test.tsv --out smaller
  headwise prune --model topics --scores scores.json --data test.tsv \
      --curve curve.svg --random 10)";

constexpr std::string_view kFooter =
    R"(Heads are removed in the order of their scores (headwise importance). Every
headwise command takes DIR as a model; transformers and other programs need
--export full-size. The constant part of a removed head's output goes into the
output bias. Accuracy is that of the model's classifier (headwise train --model)
on --data; for texts without labels the report says how far the embeddings move.
To resume an interrupted --max-drop or --curve, run the same command again.)";

// ---- How many. ----

Result<std::size_t> heads_to_remove(const PruneJob& job) {
  const PruneFlags& flags = job.flags();
  const std::vector<HeadId>& order = job.scores().importance.order;
  if (flags.max_drop.empty()) {
    return count_to_remove(flags, order.size());
  }
  const auto drop = largest_drop(flags);
  HEADWISE_TRY(drop);
  Journal journal = job.journal(flags.out);
  PrunedAccuracy accuracy = job.accuracy();
  ProgressBar bar{"prune", "heads"};
  const Progress progress = bar.progress();
  const auto found = most_within(
      *drop, order.size(), [&](std::size_t count) -> Result<double> {
        const auto answers = accuracy.without(order, count, "scores", journal);
        HEADWISE_TRY(answers);
        if (progress) {
          bar.set_note(fmt::format("accuracy={:.3f}", answers->accuracy()));
          progress(count, order.size());
        }
        return answers->accuracy();
      });
  if (found) {
    journal.remove();
  }
  return found;
}

// ---- The model. ----

// Texts that outputs are corrected on, as far apart as they go: more of them
// change little and cost memory.
constexpr std::size_t kCalibration = 256;

Status correct(const PruneJob& job, BertEncoder& pruned) {
  const std::vector<std::string_view>& texts = job.text()->texts;
  std::vector<std::string_view> some;
  const std::size_t count = std::min(kCalibration, texts.size());
  for (std::size_t n = 0; n < count; ++n) {
    some.push_back(texts[n * texts.size() / count]);
  }
  const SentenceEncoder& encoder = job.model().encoder;
  const auto tokens =
      encoder.tokenize(some, {.max_tokens = job.text_options().max_tokens,
                              .executor = &job.executor()});
  HEADWISE_TRY(tokens);
  ProgressBar bar{"correct", "layers"};
  return correct_outputs(
      pruned, encoder.encoder(), tokens->ids,
      {.progress = bar.progress(), .executor = &job.executor()});
}

Result<LearnedModel> pruned_model(const PruneJob& job, std::size_t count) {
  auto model = read_learned_model(job.flags().model);
  if (!model) {
    return model;
  }
  const auto heads = std::span(job.scores().importance.order).first(count);
  Status s = remove_heads(model->encoder.encoder(), heads, job.constant());
  if (s && job.flags().correct) {
    s = correct(job, model->encoder.encoder());
  }
  return s ? std::move(model) : s.error();
}

Status write_full_size(const PruneJob& job, const BertEncoder& encoder) {
  const auto whole = full_size_attention(encoder);
  HEADWISE_TRY(whole);
  BertConfig config = encoder.config();
  config.kept_heads.clear();
  return write_model(job.flags().model, job.flags().out,
                     {.params = whole->params(),
                      .config = &config,
                      .keep_other_files = job.flags().force});
}

Status write(const PruneJob& job, const LearnedModel& pruned) {
  const BertEncoder& encoder = pruned.encoder.encoder();
  if (job.flags().full_size()) {
    return write_full_size(job, encoder);
  }
  return write_model(job.flags().model, job.flags().out,
                     {.params = encoder.attention_params(),
                      .config = &encoder.config(),
                      .keep_other_files = job.flags().force});
}

// ---- The report. ----

Result<std::size_t> bytes_of(const std::string& folder) {
  const auto path = find_params("prune", folder);
  HEADWISE_TRY(path);
  const auto file = ParamFile::open("prune", *path, FileAccess::mapped);
  HEADWISE_TRY(file);
  std::size_t bytes = 0;
  for (const std::string& name : file->files()) {
    struct stat status {};
    bytes += ::stat(name.c_str(), &status) == 0
                 ? static_cast<std::size_t>(status.st_size)
                 : 0;
  }
  return bytes;
}

// The mean cosine of each text's two embeddings.
Result<double> mean_cosine(const PruneJob& job, const LearnedModel& pruned) {
  const TextOptions options = job.text_options();
  const auto encode = [&](const SentenceEncoder& encoder, const char* label) {
    ProgressBar bar{label, "texts"};
    return encoder.encode(job.text()->texts, {.progress = bar.progress(),
                                              .max_tokens = options.max_tokens,
                                              .executor = options.executor});
  };
  const auto a = encode(job.model().encoder, "before");
  const auto b = encode(pruned.encoder, "after");
  if (!a || !b) {
    return a ? b.error() : a.error();
  }
  double sum = 0;
  const auto [texts, size] = a->embeddings.extents();
  for (std::size_t n = 0; n < texts; ++n) {
    double ab = 0;
    double aa = 0;
    double bb = 0;
    for (std::size_t e = 0; e < size; ++e) {
      const double x = a->embeddings(n, e);
      const double y = b->embeddings(n, e);
      ab += x * y;
      aa += x * x;
      bb += y * y;
    }
    sum += ab / std::sqrt(aa * bb);
  }
  return sum / static_cast<double>(texts);
}

Status measure_accuracy(const PruneJob& job, const LearnedModel& pruned,
                        PruneReport& report) {
  report.why_no_accuracy = job.why_no_accuracy();
  if (!job.text()) {
    return ok();
  }
  if (!report.why_no_accuracy.empty()) {
    const auto cosine = mean_cosine(job, pruned);
    if (cosine) {
      report.cosine = *cosine;
    }
    return cosine ? ok() : Status(cosine.error());
  }
  const LabelProbe& probe = *job.model().probe;
  const auto answers = [&](const SentenceEncoder& encoder, const char* label) {
    ProgressBar bar{label, "texts"};
    TextOptions options = job.text_options();
    options.progress = bar.progress();
    return answers_of(encoder, probe, *job.text(), options);
  };
  auto before = answers(job.model().encoder, "before");
  auto after = answers(pruned.encoder, "after");
  if (!before || !after) {
    return before ? after.error() : before.error();
  }
  report.before = *std::move(before);
  report.after = *std::move(after);
  return ok();
}

// `pruned` has the heads that stayed, `written` is what the folder holds.
Result<PruneReport> report_of(const PruneJob& job, const BertConfig& pruned,
                              const LearnedModel& written) {
  constexpr std::size_t kMostTokens = 128;
  const BertEncoder& before = job.model().encoder.encoder();
  const BertEncoder& after = written.encoder.encoder();
  PruneReport report{.out = job.flags().out,
                     .method = job.scores().method,
                     .corrected = job.flags().correct,
                     .full_size = job.flags().full_size()};
  const ModelSettings& settings = job.model().encoder.settings();
  const auto bytes_before = bytes_of(settings.transformer_folder);
  const auto bytes_after = bytes_of(job.flags().out);
  if (!bytes_before || !bytes_after) {
    return bytes_before ? bytes_after.error() : bytes_before.error();
  }
  report.sizes = {job.scores().importance.order.size(), 0, *bytes_before,
                  *bytes_after};
  for (std::size_t n = 0; n < after.layers().size(); ++n) {
    report.kept.push_back(heads_of(pruned, n));
    report.sizes.heads_after += report.kept.back();
  }
  HEADWISE_TRY(measure_accuracy(job, written, report));
  const std::size_t tokens =
      std::min({kMostTokens, settings.max_tokens,
                job.text_options().max_tokens.value_or(kMostTokens)});
  ProgressBar bar{"timing", "rounds"};
  auto times =
      measure_times(before, after, tokens, job.executor(), bar.progress());
  HEADWISE_TRY(times);
  report.times = *times;
  return report;
}

// Zeroed heads are still computed, so the folder is measured as it is written.
Result<PruneReport> report_of_folder(const PruneJob& job,
                                     const LearnedModel& pruned) {
  const BertConfig& config = pruned.encoder.encoder().config();
  if (!job.flags().full_size()) {
    return report_of(job, config, pruned);
  }
  const auto written = read_learned_model(job.flags().out);
  return written ? report_of(job, config, *written)
                 : Result<PruneReport>(written.error());
}

// ---- The command. ----

FilePlan files_of(const PruneFlags& flags) {
  FilePlan plan;
  plan.input("--model", flags.model);
  plan.input("--scores", flags.scores);
  plan.input("--data", flags.data);
  plan.output("--curve", flags.curve);
  plan.replaced_folder("--out", flags.out, /*parents=*/true);
  if (!flags.curve.empty()) {
    plan.output("the journal of --curve", Journal::path_of(flags.curve));
  } else if (!flags.max_drop.empty()) {
    plan.output("the journal of --out", Journal::path_of(flags.out),
                /*parents=*/true);
  }
  if (flags.json) {
    plan.printed("--json");
  }
  return plan;
}

Outcome check_files(const PruneFlags& flags, const FilePlan& files) {
  if (Outcome failed = files.check()) {
    return failed;
  }
  return flags.out.empty() ? Outcome()
                           : check_model_out({.folder = flags.out,
                                              .source = flags.model,
                                              .force = flags.force,
                                              .replaces_models = true});
}

Outcome run_curve(const PruneJob& job, const FilePlan& files,
                  const Streams& streams) {
  const auto curve = measure_curve(job);
  if (!curve) {
    return failure_of(curve.error());
  }
  const auto picture = curve_picture(job, *curve);
  if (!picture) {
    return failure_of(picture.error());
  }
  if (Status s = write_file_atomically(job.flags().curve,
                                       std::as_bytes(std::span(*picture)));
      !s) {
    return failure_to_write(s.error());
  }
  return job.flags().json
             ? print(streams.out, curve_json(job, *curve))
             : files.print_summary(streams, curve_text(job, *curve));
}

Outcome run_prune(const PruneFlags& flags, const Streams& streams) {
  if (!flags.out.empty()) {
    recover_folder(flags.out);  // the files are those that are there then
  }
  const FilePlan files = files_of(flags);
  if (Outcome failed = check_files(flags, files)) {
    return failed;
  }
  const auto executor = flags.threads == 0
                            ? Result<Executor>(Executor::default_executor())
                            : Executor::with_threads(flags.threads);
  if (!executor) {
    return failure_of(executor.error());
  }
  const auto job = PruneJob::create(flags, *executor);
  if (!job) {
    return failure_of(job.error());
  }
  if (!flags.curve.empty()) {
    return run_curve(*job, files, streams);
  }
  const auto count = heads_to_remove(*job);
  if (!count) {
    return failure_of(count.error());
  }
  const auto pruned = pruned_model(*job, *count);
  if (!pruned) {
    return failure_of(pruned.error());
  }
  if (Status s = write(*job, *pruned); !s) {
    return failure_to_write(s.error());
  }
  const auto report = report_of_folder(*job, *pruned);
  if (!report) {
    return failure_of(report.error());
  }
  return print(streams.out, flags.json ? json_of(*report) : text_of(*report));
}

void add_amounts(const Arguments& command, PruneFlags& flags) {
  command.add_option("--keep", flags.keep, "so many heads stay")
      .type_name("N")
      .transform(natural_number())
      .group("How many");
  command
      .add_option("--remove", flags.remove, "so many heads go, or such a share")
      .type_name("N|P%")
      .check(not_empty())
      .group("How many");
  command
      .add_option("--max-drop", flags.max_drop,
                  "as many go as cost no more than these points of accuracy "
                  "on --data")
      .type_name("P%")
      .check(not_empty())
      .group("How many");
}

void add_files(const Arguments& command, PruneFlags& flags) {
  command.add_option("--model", flags.model, "a folder of BERT's family")
      .type_name("DIR")
      .required()
      .check(not_empty());
  command
      .add_option("--scores", flags.scores,
                  "what headwise importance wrote about this model")
      .type_name("FILE.json")
      .required()
      .check(not_empty());
  command
      .add_option("--data", flags.data,
                  "texts to measure with, one a line: label<TAB>text, or text "
                  "alone")
      .type_name("FILE|-")
      .check(not_empty());
  command.add_option("--out", flags.out, "the folder of the pruned model")
      .type_name("DIR")
      .check(not_empty());
  command
      .add_option("--export", flags.export_as,
                  "pruned (default): removed heads are gone, for headwise; "
                  "full-size: they are zeros, so that transformers loads the "
                  "folder, and nothing gets smaller or faster")
      .type_name("pruned|full-size")
      .check(one_of({"pruned", "full-size"}));
  command
      .add_option("--curve", flags.curve,
                  "draw the accuracy of every tenth of the heads instead")
      .type_name("FILE.svg")
      .check(not_empty());
}

void add_options(const Arguments& command, PruneFlags& flags) {
  add_files(command, flags);
  add_amounts(command, flags);
  command
      .add_flag("--correct", flags.correct,
                "fit the output projections to the whole model on --data, by "
                "least squares")
      .advanced();
  command
      .add_flag("--drop-constant", flags.drop_constant,
                "leave the output bias as it is")
      .advanced();
  command
      .add_option("--random", flags.random,
                  "beside --curve: so many random orders to compare with")
      .type_name("N")
      .transform(natural_number())
      .advanced();
  command.add_option("--seed", flags.seed, "of random orders (default 0)")
      .type_name("N")
      .transform(natural_number())
      .advanced();
  command.add_count("--max-tokens", flags.max_tokens,
                    "of a text (default: the model's)");
  command.add_count("--threads", flags.threads,
                    "threads to use (default: all)");
  command.add_flag("--force", flags.force,
                   "write to --out even if it holds other files, which stay");
  command.add_flag("--json", flags.json, "print JSON");
}

}  // namespace

void add_prune(const Arguments& app, Command& chosen) {
  const Arguments command = app.add_command(
      "prune", "take the heads that matter least out of a model",
      std::string(kExamples));
  command.footer(std::string(kFooter));
  auto flags = std::make_shared<PruneFlags>();
  add_options(command, *flags);
  command.on_parsed([flags, &chosen] {
    chosen = [flags](const Streams& s) { return run_prune(*flags, s); };
  });
}

}  // namespace headwise::cli
