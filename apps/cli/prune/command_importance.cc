// headwise importance
// How much each head of a model matters, by one of several measures.
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <vector>

#include "headwise/inspect/pictures.h"
#include "headwise/prune/importance.h"
#include "headwise/prune/sentence_importance.h"
#include "importance_text.h"
#include "shell/add_command.h"
#include "shell/error_of_option.h"
#include "shell/file_plan.h"
#include "shell/models/read_labelled.h"
#include "shell/models/read_model.h"
#include "shell/output.h"
#include "shell/picture_file.h"
#include "shell/progress_bar.h"
#include "shell/quantity_text.h"
#include "shell/ranks/deadline.h"
#include "shell/ranks/rank_job.h"
#include "shell/save_every.h"
#include "shell/say.h"
#include "shell/terminal_text.h"
#include "shell/threads.h"
#include "shell/visible_work.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kImportanceHelp = {
    .name = "importance",
    .description = "measure how much each head matters",
    .examples =
        R"(  headwise importance --model topics --data train.tsv --out scores.json
  headwise importance --model all-MiniLM-L6-v2 --data lines.txt \
      --method ablation --examples 100 --out scores.json --svg scores.svg
  mpirun -n 8 headwise importance --model topics --data train.tsv --out s.json)",
    .footer =
        R"(FILE has one example per line: label<TAB>text, or text alone. With labels the
loss is that of the model's classifier (headwise train --model), or of one
trained on FILE. Without labels it is that of a language model's next tokens, or
of other models how far the embedding moves.
  gradient    mean |d loss / d gate|, normalised per layer (Michel et al. 2019)
  fisher      mean (d loss / d gate)^2 (Kwon et al. 2022)
  ablation    the loss without the head minus the loss with it: exact, slow
  entropy     minus the mean entropy of its attention weights
  confidence  mean largest attention weight (Voita et al. 2019)
  random      random numbers, for comparison
Under mpirun the processes divide the examples of each batch; the scores are the
same. To resume an interrupted run, run the same command again.)"};

struct ImportanceFlags {
  CommandLine line;
  std::string model;
  std::string data;
  std::string method = "gradient";
  std::string out;
  std::string svg;
  std::optional<double> iterative;  // the share of a round
  std::size_t examples = 0;         // 0: all
  std::size_t max_tokens = 0;       // 0: the model's
  std::size_t batch = ImportanceOptions{}.batch;
  std::size_t threads = 0;  // 0: all
  std::uint64_t seed = 0;
  SaveEvery save_every;
  std::optional<std::size_t> deadline;
  bool json = false;
};

Result<LabelledText> read_data(const ImportanceFlags& flags) {
  HEADWISE_ASSIGN(auto text, read_labelled("--data", flags.data));
  HEADWISE_TRY(check_model_folder(flags.model));
  return text;
}

Result<SentenceImportance> start(const ImportanceFlags& flags,
                                 const LabelledText& text,
                                 const Executor& executor,
                                 Communicator& group) {
  ProgressBar bar{"probe", "examples"};
  auto run = SentenceImportance::create(
      flags.model, text,
      {.importance = {.method = *importance_method(flags.method),
                      .share_a_round = flags.iterative,
                      .batch = flags.batch,
                      .seed = Seed{flags.seed}},
       .examples = flags.examples,
       .max_tokens = flags.max_tokens,
       .probe_progress = bar.progress(),
       .executor = &executor,
       .group = group.ranks() == 1 ? nullptr : &group});
  HEADWISE_TRY(of_all_ranks(run));
  return run;
}

Outcome take_steps(Communicator& group, SentenceImportance& run,
                   Journal& journal, std::chrono::seconds save_every) {
  HEADWISE_TRY(run.resume(journal));
  ProgressBar bar{"importance", "batches"};
  const Progress progress = bar.progress();
  while (run.done() < run.steps()) {
    HEADWISE_TRY(of_all_ranks(run.step()));
    if (progress) {
      progress(run.done(), run.steps());
    }
    if (journal.due(save_every)) {
      HEADWISE_TRY(
          written(work_visibly(&group, [&] { return run.keep_in(journal); })));
    }
  }
  return {};
}

// ---- Results. ----

// Of the classifier, of next tokens, or how far embeddings move.
std::string loss_name(const ImportanceFile& file) {
  return file.loss == "classification" ? say("classification")
         : file.loss == "next_token"   ? say("next-token")
                                       : say("embedding");
}

// The others look at attention weights, or at nothing.
bool uses_loss(const ImportanceFile& file) {
  return file.method == "gradient" || file.method == "fisher" ||
         file.method == "ablation";
}

Result<std::string> scores_picture(const ImportanceFile& file) {
  HeadScores picture{
      .title = file.method,
      .subtitle =
          uses_loss(file)
              ? say("{} loss of {} example{}", loss_name(file), file.examples,
                    plural(file.examples))
              : say("{} example{}", file.examples, plural(file.examples)),
      .language = language()};
  for (std::size_t n = 0; n < file.heads.size(); ++n) {
    auto& layer = picture.scores.emplace_back(file.num_heads, kPrunedHead);
    for (std::size_t at = 0; at < file.heads[n].size(); ++at) {
      layer[file.heads[n][at]] = file.importance.scores[n][at];
    }
  }
  return head_scores_svg(picture);
}

std::string measured_text(const ImportanceFile& file) {
  const std::size_t heads = file.importance.order.size();
  return uses_loss(file)
             ? say("{} of {} heads, {} loss of {} example{} of at most {} "
                   "tokens\n",
                   file.method, heads, loss_name(file), file.examples,
                   plural(file.examples), file.max_tokens)
             : say("{} of {} heads, {} example{} of at most {} tokens\n",
                   file.method, heads, file.examples, plural(file.examples),
                   file.max_tokens);
}

std::string summary(const ImportanceFlags& flags, const ImportanceFile& file) {
  return measured_text(file) + table_of(file) +
         say("{}: scores, for\n", shown(flags.out)) +
         fmt::format(
             "  headwise prune --model {} --scores {} --remove 40% "
             "--out DIR\n",
             shell_word(flags.model), shell_word(flags.out));
}

Outcome write_results(const ImportanceFlags& flags, const ImportanceFile& file,
                      const FilePlan& files, const Streams& streams) {
  HEADWISE_TRY(written(write_importance(flags.out, file)));
  HEADWISE_TRY(
      write_picture(flags.svg, [&](double) { return scores_picture(file); }));
  return flags.json ? print(streams.out, importance_json(file))
                    : files.print_summary(streams, summary(flags, file));
}

Outcome check_job(const ImportanceFlags& flags, std::size_t ranks) {
  return ranks > 1 && flags.data == "-"
             ? usage("--data", "is -", "a file that every process can read")
             : Outcome();
}

Outcome run_importance(const ImportanceFlags& flags, const Streams& streams) {
  HEADWISE_ASSIGN(const auto joined, join_job(longest_wait(flags.deadline)));
  Communicator& group = *joined;
  HEADWISE_TRY(agreed(group, check_job(flags, group.ranks())));
  FilePlan files = flags.line.files();
  files.journal("--out", Journal::path_of(flags.out));
  HEADWISE_TRY(agreed(group, files.check()));
  HEADWISE_ASSIGN(const auto executor, executor_with(flags.threads));
  const auto text = work_visibly(&group, [&] { return read_data(flags); });
  HEADWISE_TRY(agreed(group, text));
  auto run = start(flags, *text, executor, group);
  if (!run && run.error().details().file == text->file) {
    return error_of_option("--data", run.error());
  }
  HEADWISE_TRY(run);
  Journal journal = run->journal(flags.out);
  HEADWISE_TRY(take_steps(group, *run, journal, flags.save_every.interval()));
  if (group.rank() != 0) {
    return agreed(group, Outcome());
  }
  HEADWISE_TRY(agreed(group, work_visibly(&group, [&] {
                        return write_results(flags, run->result(), files,
                                             streams);
                      })));
  journal.remove();
  return {};
}

void add_importance_options(const Arguments& command, ImportanceFlags& flags) {
  command.keep_line(flags.line);
  command.add(
      {{"--model", &flags.model, input_file("DIR|FILE"),
        "a model folder, pruned or not, or a GGUF file", required()},
       {"--data", &flags.data, input_file("FILE|-"),
        "one example per line: label<TAB>text, or text alone", required()},
       {"--method", &flags.method,
        choice({kImportanceMethodNames.begin(), kImportanceMethodNames.end()}),
        "how to score (default: gradient); see below"},
       {"--iterative", &flags.iterative,
        real("SHARE", number_between(1e-6, 1, "a share above 0 and at most 1")),
        "turn off this share of all heads, score the rest again, and repeat (0 "
        "to 1, such as 0.1)",
        advanced()},
       {"--examples", &flags.examples, count(),
        "number of examples to use, spread over the file (default: all)"},
       {"--max-tokens", &flags.max_tokens, count(),
        "maximum tokens per example (default: the model's limit)"},
       {"--batch", &flags.batch, count(),
        fmt::format("examples per batch (default {})", flags.batch),
        advanced()},
       {"--seed", &flags.seed, number(),
        "seed of --method random, and of the random directions used without "
        "labels (default 0)",
        advanced()},
       threads_option(flags.threads),
       flags.save_every.option(),
       deadline_option(flags.deadline),
       {"--out", &flags.out, output_file("FILE.json"),
        "write the scores as JSON", required()},
       {"--svg", &flags.svg, picture("FILE.svg", ".svg"),
        "draw the scores as a heat map"},
       {"--json", &flags.json, printed(), "print JSON instead of a table"}});
}

}  // namespace

void add_importance(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kImportanceHelp, add_importance_options,
              run_importance);
}

}  // namespace headwise::cli
