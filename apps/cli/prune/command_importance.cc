// headwise importance
// How much each head of a model matters, by one of several measures.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headwise/inspect/head_scores_svg.h"
#include "headwise/interop/atomic_file.h"
#include "headwise/prune/importance.h"
#include "headwise/prune/sentence_losses.h"
#include "importance_file.h"
#include "importance_text.h"
#include "journal.h"
#include "json/json.h"
#include "shell/args.h"
#include "shell/command.h"
#include "shell/file_plan.h"
#include "shell/output.h"
#include "shell/progress_bar.h"
#include "shell/say.h"
#include "shell/sha256.h"
#include "shell/terminal_text.h"
#include "train/labelled_text.h"
#include "train/learned_model.h"

namespace headwise::cli {
namespace {

constexpr std::string_view kExamples =
    R"(  headwise importance --model topics --data train.tsv --out scores.json
  headwise importance --model all-MiniLM-L6-v2 --data lines.txt \
      --method ablation --examples 100 --out scores.json --svg scores.svg)";

constexpr std::string_view kFooter =
    R"(FILE has one example a line: label<TAB>text, or text alone. With labels the loss
is that of the model's classifier (headwise train --model), or of one trained on
FILE; without, what matters is how far a sentence's embedding moves.
  gradient    mean |d loss / d gate|, of length 1 a layer (Michel et al. 2019)
  fisher      mean (d loss / d gate)^2 (Kwon et al. 2022)
  ablation    the loss without the head less that with it: exact, slow
  entropy     less the mean entropy of its attention weights
  confidence  its mean largest attention weight (Voita et al. 2019)
  random      numbers that mean nothing, to compare with
An interrupted run is gone on with by the same command.)";

struct ImportanceFlags {
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
  bool json = false;
};

std::optional<std::size_t> given(std::size_t count) {
  return count == 0 ? std::optional<std::size_t>() : count;
}

// `count` of the lines, as far apart as they go.
LabelledText some_of(LabelledText text, std::size_t count) {
  const std::size_t total = text.texts.size();
  if (count == 0 || count >= total) {
    return text;
  }
  LabelledText some{text.bytes, {}, {}, text.path, {}};
  for (std::size_t n = 0; n < count; ++n) {
    some.texts.push_back(text.texts[n * total / count]);
    some.lines.push_back(n * total / count + 1);
    if (text.labelled()) {
      some.labels.push_back(text.labels[n * total / count]);
    }
  }
  return some;
}

// What a run is given, kept together: GatedModel looks at it.
struct Subject {
  LearnedModel model;
  LabelledText text;  // the examples
  SentenceTokens tokens;
  std::vector<std::int64_t> targets;
  std::string digest;         // of the model's parameters
  std::string folder_digest;  // of all that is read of it
};

// The classifier: the model's, or one of the labels of all lines.
Status find_probe(const ImportanceFlags& flags, const LabelledText& all,
                  const Executor& executor, Subject& subject) {
  if (subject.model.probe || !all.labelled()) {
    return ok();
  }
  ProgressBar bar{"probe", "examples"};
  auto probe = train_probe(subject.model.encoder, all,
                           {.max_tokens = given(flags.max_tokens),
                            .executor = &executor,
                            .progress = bar.progress()});
  HEADWISE_TRY(probe);
  subject.model.probe = *std::move(probe);
  return ok();
}

Result<Subject> read_subject(const ImportanceFlags& flags,
                             const Executor& executor) {
  auto text = read_labelled_text("--data", flags.data);
  HEADWISE_TRY(text);
  auto model = read_learned_model(flags.model);
  if (!model) {
    return model.error();
  }
  auto digest = digest_of_model(model->encoder);
  auto folder_digest = digest_of_folder(flags.model, model->encoder);
  if (!digest || !folder_digest) {
    return digest ? folder_digest.error() : digest.error();
  }
  Subject subject{*std::move(model),        {}, {}, {}, *std::move(digest),
                  *std::move(folder_digest)};
  if (Status s = find_probe(flags, *text, executor, subject); !s) {
    return s.error();
  }
  subject.text = some_of(*std::move(text), flags.examples);
  auto tokens = subject.model.encoder.tokenize(
      subject.text.texts,
      {.max_tokens = given(flags.max_tokens), .executor = &executor});
  if (!tokens) {
    return tokens.error();
  }
  subject.tokens = *std::move(tokens);
  if (subject.text.labelled()) {
    auto targets =
        targets_of("--data", subject.text, subject.model.probe->labels());
    HEADWISE_TRY(targets);
    subject.targets = *std::move(targets);
  }
  return subject;
}

GatedModel gated_model(const Subject& subject, Seed seed,
                       const Executor& executor) {
  const LearnedModel& model = subject.model;
  return subject.text.labelled()
             ? classification_losses(model.encoder, *model.probe,
                                     subject.tokens.ids, subject.targets,
                                     executor)
             : embedding_losses(model.encoder, subject.tokens.ids, seed,
                                executor);
}

// ---- The state of a run in a journal. ----

Json json_of(const ImportanceState& state) {
  Json order = Json::array();
  for (const auto& [layer, head] : state.order) {
    order.push_back({layer, head});
  }
  return {{"done", state.done},
          {"in_round", state.in_round},
          {"sums", state.sums},
          {"scores", state.scores},
          {"order", order}};
}

std::optional<ImportanceState> state_of(const Json& json) {
  ImportanceState state;
  std::vector<std::vector<std::size_t>> order;
  const auto get = [&](std::string_view key, auto& into) {
    const Json* const found = json.find(key);
    return found != nullptr && found->get(into);
  };
  if (!get("done", state.done) || !get("in_round", state.in_round) ||
      !get("sums", state.sums) || !get("scores", state.scores) ||
      !get("order", order)) {
    return {};
  }
  for (const auto& id : order) {
    if (id.size() != 2) {
      return {};
    }
    state.order.push_back({id[0], id[1]});
  }
  return state;
}

Outcome run_all(ImportanceRun& run, Journal& journal) {
  if (const auto kept = journal.state()) {
    if (auto state = state_of(*kept)) {
      // One that does not fit is begun anew.
      static_cast<void>(run.set_state(*std::move(state)));
    }
  }
  ProgressBar bar{"importance", "batches"};
  const Progress progress = bar.progress();
  while (run.done() < run.steps()) {
    if (Status s = run.step(); !s) {
      return failure_of(s.error());
    }
    if (progress) {
      progress(run.done(), run.steps());
    }
    if (journal.due()) {
      if (Status s = journal.keep(json_of(run.state())); !s) {
        return failure_to_write(s.error());
      }
    }
  }
  return {};
}

// ---- Results. ----

ImportanceFile file_of(const ImportanceFlags& flags, const Subject& subject,
                       const GatedModel& model, HeadImportance importance) {
  const std::size_t most = subject.model.encoder.settings().max_tokens;
  return {.method = flags.method,
          .share_a_round = flags.iterative,
          .loss = subject.text.labelled() ? "classification" : "embedding",
          .model_sha256 = subject.digest,
          .num_heads = subject.model.encoder.settings().config.num_heads,
          .examples = subject.text.texts.size(),
          .max_tokens = std::min(given(flags.max_tokens).value_or(most), most),
          .seed = flags.seed,
          .heads = model.heads,
          .importance = std::move(importance)};
}

// Of the classifier, or how far embeddings move.
std::string loss_name(const ImportanceFile& file) {
  return file.loss == "classification" ? say({"classification", "분류"})
                                       : say({"embedding", "임베딩"});
}

Status write_svg(const std::string& path, const ImportanceFile& file) {
  HeadScores picture{
      .title = file.method,
      .subtitle = say({"{} loss of {} examples", "예제 {1}개의 {0} 손실"},
                      loss_name(file), file.examples),
      .language = language()};
  for (std::size_t n = 0; n < file.heads.size(); ++n) {
    auto& layer = picture.scores.emplace_back(file.num_heads, kPrunedHead);
    for (std::size_t at = 0; at < file.heads[n].size(); ++at) {
      layer[file.heads[n][at]] = file.importance.scores[n][at];
    }
  }
  const auto svg = head_scores_svg(picture);
  return svg ? write_file_atomically(path, std::as_bytes(std::span(*svg)))
             : Status(svg.error());
}

std::string summary(const ImportanceFlags& flags, const ImportanceFile& file) {
  return say({"{} of {} heads, {} loss of {} examples of at most {} tokens\n",
              "헤드 {1}개의 {0}: 예제 {3}개(최대 토큰 {4}개)의 {2} 손실\n"},
             file.method, file.importance.order.size(), loss_name(file),
             file.examples, file.max_tokens) +
         table_of(file) +
         say({"{}: scores, for\n", "{}: 점수. 이어서 실행할 명령:\n"},
             shown(flags.out)) +
         fmt::format(
             "  headwise prune --model {} --scores {} --remove 40% "
             "--out DIR\n",
             shell_word(flags.model), shell_word(flags.out));
}

Outcome write_results(const ImportanceFlags& flags, const ImportanceFile& file,
                      const FilePlan& files, const Streams& streams) {
  const std::string json = json_of(file);
  if (Status s =
          write_file_atomically(flags.out, std::as_bytes(std::span(json)));
      !s) {
    return failure_to_write(s.error());
  }
  if (!flags.svg.empty()) {
    if (Status s = write_svg(flags.svg, file); !s) {
      return failure_to_write(s.error());
    }
  }
  return flags.json ? print(streams.out, json)
                    : files.print_summary(streams, summary(flags, file));
}

FilePlan files_of(const ImportanceFlags& flags) {
  FilePlan plan;
  plan.input("--model", flags.model);
  plan.input("--data", flags.data);
  plan.output("--out", flags.out);
  plan.output("--svg", flags.svg);
  plan.output("the journal of --out", Journal::path_of(flags.out));
  if (flags.json) {
    plan.printed("--json");
  }
  return plan;
}

Outcome run_importance(const ImportanceFlags& flags, const Streams& streams) {
  const FilePlan files = files_of(flags);
  if (Outcome failed = files.check()) {
    return failed;
  }
  const auto executor = flags.threads == 0
                            ? Result<Executor>(Executor::default_executor())
                            : Executor::with_threads(flags.threads);
  if (!executor) {
    return failure_of(executor.error());
  }
  const auto subject = read_subject(flags, *executor);
  if (!subject) {
    return failure_of(subject.error());
  }
  const Seed seed{flags.seed};
  const GatedModel model = gated_model(*subject, seed, *executor);
  auto run =
      ImportanceRun::create(model, {.method = *importance_method(flags.method),
                                    .share_a_round = flags.iterative,
                                    .batch = flags.batch,
                                    .seed = seed});
  if (!run) {
    return failure_of(run.error());
  }
  Journal journal(flags.out, {{"model", subject->folder_digest},
                              {"data", sha256_of_text(*subject->text.bytes)},
                              {"method", flags.method},
                              {"iterative", flags.iterative.value_or(0)},
                              {"examples", flags.examples},
                              {"max_tokens", flags.max_tokens},
                              {"batch", flags.batch},
                              {"seed", flags.seed}});
  if (Outcome failed = run_all(*run, journal)) {
    return failed;
  }
  const Outcome written = write_results(
      flags, file_of(flags, *subject, model, run->result()), files, streams);
  if (!written) {
    journal.remove();
  }
  return written;
}

void add_options(const Arguments& command, ImportanceFlags& flags) {
  std::vector<std::string> methods;
  for (const std::string_view name : importance_methods()) {
    methods.emplace_back(name);
  }
  command
      .add_option("--model", flags.model,
                  "a folder of BERT's family, pruned before or not")
      .type_name("DIR")
      .required()
      .check(not_empty());
  command
      .add_option("--data", flags.data,
                  "one example a line: label<TAB>text, or text alone")
      .type_name("FILE|-")
      .required()
      .check(not_empty());
  command.add_option("--method", flags.method, "default gradient; see below")
      .type_name(fmt::format("{}", fmt::join(methods, "|")))
      .check(one_of(methods));
  command
      .add_option("--iterative", flags.iterative,
                  "turn this share of all heads off, score the others anew, "
                  "and so on (Michel et al.: 0.1)")
      .type_name("SHARE")
      .check(number_between(1e-6, 1, "a share above 0 and at most 1"))
      .advanced();
  command.add_count(
      "--examples", flags.examples,
      "number of lines to score on, spread over the file (default: all)");
  command.add_count("--max-tokens", flags.max_tokens,
                    "of an example (default: the model's)");
  command
      .add_count("--batch", flags.batch,
                 fmt::format("examples at a time (default {})", flags.batch))
      .advanced();
  command
      .add_option("--seed", flags.seed,
                  "of random, and of what stands for labels (default 0)")
      .type_name("N")
      .transform(natural_number())
      .advanced();
  command.add_count("--threads", flags.threads,
                    "threads to use (default: all)");
  command.add_option("--out", flags.out, "the scores, as JSON")
      .type_name("FILE.json")
      .required()
      .check(not_empty());
  command.add_option("--svg", flags.svg, "the scores, as a heat map")
      .type_name("FILE.svg")
      .check(not_empty());
  command.add_flag("--json", flags.json, "print the JSON, not a table");
}

}  // namespace

void add_importance(const Arguments& app, Command& chosen) {
  const Arguments command =
      app.add_command("importance", "measure how much each head matters",
                      std::string(kExamples));
  command.footer(std::string(kFooter));
  auto flags = std::make_shared<ImportanceFlags>();
  add_options(command, *flags);
  command.on_parsed([flags, &chosen] {
    chosen = [flags](const Streams& s) { return run_importance(*flags, s); };
  });
}

}  // namespace headwise::cli
