// headwise encode
// Sentences -> embeddings, by a model folder.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encode_corpus.h"
#include "headwise/interop/journal.h"
#include "headwise/interop/npy.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/train/labelled_text.h"
#include "operation/arithmetic_option.h"
#include "shell/add_command.h"
#include "shell/error_of_option.h"
#include "shell/file_plan.h"
#include "shell/json.h"
#include "shell/models/read_model.h"
#include "shell/output.h"
#include "shell/progress_bar.h"
#include "shell/quantity_text.h"
#include "shell/ranks/deadline.h"
#include "shell/ranks/rank_job.h"
#include "shell/read_text.h"
#include "shell/save_every.h"
#include "shell/say.h"
#include "shell/terminal_text.h"
#include "shell/threads.h"
#include "shell/visible_work.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kEncodeHelp = {
    .name = "encode",
    .description = "turn sentences into embeddings with a model",
    .examples =
        R"(  headwise encode --model all-MiniLM-L6-v2 sentences.txt --out embeddings.npy
  echo "Heads matter." | headwise encode --model all-MiniLM-L6-v2 --json
  mpirun -n 8 headwise encode --model all-MiniLM-L6-v2 sentences.txt --out e.npy)",
    .footer =
        R"(Under mpirun the processes divide the sentences; the file is the same. Each
needs the input files and the folder of --out.
To resume an interrupted run, run the same command again. Until the run ends,
finished embeddings are in the folder FILE.npy.partial.)"};

struct EncodeFlags {
  CommandLine line;
  std::string model;
  std::string sentences = "-";
  std::string out;
  std::size_t threads = 0;  // 0: all
  std::string arithmetic;
  std::optional<std::string> prompt_name;
  SaveEvery save_every;
  std::optional<std::size_t> deadline;
  bool json = false;
};

std::string json_lines(const std::vector<std::string_view>& sentences,
                       const SentenceEmbeddings& done) {
  std::string text;
  for (std::size_t n = 0; n < sentences.size(); ++n) {
    const float* const row = &done.embeddings(n, 0);
    const Json line = {
        {"sentence", n},
        {"text", sentences[n]},
        {"cut_tokens", done.cut[n]},
        {"embedding",
         std::vector<float>(row, row + done.embeddings.extent(1))}};
    text += json_text(line);
  }
  return text;
}

std::string cut_text(const CorpusCounts& counts, std::size_t max_tokens) {
  if (counts.cut == 0) {
    return "";
  }
  return say(
      "{} of them had more than {} tokens; the rest was cut off (up to "
      "{} tokens, in line {})\n",
      counts.cut, max_tokens, counts.most_cut, counts.most_cut_sentence + 1);
}

std::string saved_text(std::size_t saved) {
  return saved == 0 ? ""
                    : say("{} more sentence{} encoded by an earlier run\n",
                          saved, plural(saved));
}

std::string encode_summary(const SentenceEncoder& model,
                           const CorpusCounts& counts, std::size_t sentences,
                           const std::string& out) {
  return say("{} sentence{}, {} token{}, in {:.3g} s: {:.4g} sentences/s\n",
             counts.encoded, plural(counts.encoded), counts.tokens,
             plural(counts.tokens), counts.seconds,
             static_cast<double>(counts.encoded) /
                 std::max(counts.seconds, 1e-9)) +
         saved_text(sentences - counts.encoded) +
         cut_text(counts, model.settings().max_tokens) +
         say("{}: embeddings of shape ({}, {})\n", shown(out), sentences,
             model.embedding_size());
}

FilePlan encode_files(const EncodeFlags& flags) {
  FilePlan plan = flags.line.files();
  if (!flags.out.empty()) {
    plan.outputs_in("the parts of --out", Journal::path_of(flags.out), {},
                    /*parents=*/false);
  }
  return plan;
}

Outcome check_job(const EncodeFlags& flags, std::size_t ranks) {
  if (ranks == 1) {
    return {};
  }
  if (flags.json) {
    return usage("--json cannot be used by several processes");
  }
  if (flags.sentences == "-") {
    return usage("FILE", "is -", "a file that every process can read");
  }
  return Journal::path_of(flags.out).empty()
             ? usage("--out", message("is {}", flags.out),
                     "a regular file: every process writes a part of it")
             : Outcome();
}

// What the options name, read.
struct EncodeInputs {
  std::string text;
  Executor executor;
  SentenceEncoder model;
};

Result<EncodeInputs> read_inputs(const EncodeFlags& flags) {
  HEADWISE_ASSIGN(auto text, read_text("FILE", flags.sentences));
  HEADWISE_TRY(check_lines({"FILE", name_of_text(flags.sentences)},
                           text_lines(text), "one sentence per line"));
  HEADWISE_ASSIGN(auto executor, executor_with(flags.threads));
  HEADWISE_ASSIGN(
      auto model,
      read_model(flags.model, {.arithmetic = arithmetic_of(flags.arithmetic)}));
  if (const auto can = model.tokenize({}, {.prompt_name = flags.prompt_name});
      !can) {
    return error_of_option("--prompt-name", can.error());
  }
  return EncodeInputs{std::move(text), std::move(executor), std::move(model)};
}

// One line of JSON per sentence, and --out where it is given.
Outcome encode_to_json(const EncodeFlags& flags, const EncodeInputs& in,
                       const Streams& streams) {
  const std::vector<std::string_view> sentences = text_lines(in.text);
  const auto done = [&] {
    ProgressBar bar{"encode", "sentences"};
    return in.model.encode(sentences, {.progress = bar.progress(),
                                       .prompt_name = flags.prompt_name,
                                       .executor = &in.executor});
  }();
  HEADWISE_TRY(done);
  if (!flags.out.empty()) {
    HEADWISE_TRY(written(write_npy(flags.out, done->embeddings)));
  }
  return print(streams.out, json_lines(sentences, *done));
}

Outcome run_encode(const EncodeFlags& flags, const Streams& streams) {
  if (flags.out.empty() && !flags.json) {
    return usage("expected --out FILE.npy, or --json");
  }
  HEADWISE_ASSIGN(const auto group, join_job(longest_wait(flags.deadline)));
  HEADWISE_TRY(agreed(*group, check_job(flags, group->ranks())));
  const FilePlan files = encode_files(flags);
  HEADWISE_TRY(agreed(*group, files.check()));
  const auto in = work_visibly(group, [&] { return read_inputs(flags); });
  HEADWISE_TRY(agreed(*group, in ? Outcome() : Outcome(in.error())));
  if (flags.json) {
    return encode_to_json(flags, *in, streams);
  }
  const std::vector<std::string_view> sentences = text_lines(in->text);
  CorpusCounts counts;
  HEADWISE_TRY(encode_corpus(*group,
                             {.model = in->model,
                              .model_folder = flags.model,
                              .text = in->text,
                              .sentences = sentences,
                              .out = flags.out,
                              .arithmetic = arithmetic_of(flags.arithmetic),
                              .prompt_name = flags.prompt_name,
                              .save_every = flags.save_every.interval()},
                             in->executor, counts));
  return group->rank() != 0
             ? Outcome()
             : files.print_summary(
                   streams, encode_summary(in->model, counts, sentences.size(),
                                           flags.out));
}

void add_encode_options(const Arguments& command, EncodeFlags& flags) {
  command.keep_line(flags.line);
  command.add({{"--model", &flags.model, input_file("DIR|FILE"),
                "a model folder (config.json, tokenizer.json or vocab.txt, "
                "model.safetensors), or a GGUF file",
                required()},
               {"FILE", &flags.sentences, input_file("FILE|-"),
                "one sentence per line (default -: standard input)"},
               {"--out", &flags.out, output_file("FILE.npy"),
                "write the embeddings: (sentences, size)"},
               {"--json", &flags.json, printed(),
                "print one line of JSON per sentence"},
               {"--prompt-name", &flags.prompt_name, text("NAME"),
                "name of the prompt to prepend to each sentence, such as "
                "query; \"\" for no prompt (default: that of the model)"},
               threads_option(flags.threads),
               arithmetic_option(flags.arithmetic),
               flags.save_every.option(),
               deadline_option(flags.deadline)});
}

}  // namespace

void add_encode(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kEncodeHelp, add_encode_options, run_encode);
}

}  // namespace headwise::cli
