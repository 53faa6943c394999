// headwise encode
// Sentences -> embeddings, by a model folder.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/interop/npy.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/train/labelled_text.h"
#include "shell/add_command.h"
#include "shell/file_plan.h"
#include "shell/json.h"
#include "shell/output.h"
#include "shell/progress_bar.h"
#include "shell/read_model.h"
#include "shell/read_text.h"
#include "shell/say.h"
#include "shell/terminal_text.h"
#include "shell/threads.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kHelp = {
    .name = "encode",
    .description = "turn sentences into embeddings with a model",
    .examples =
        R"(  headwise encode --model all-MiniLM-L6-v2 sentences.txt --out embeddings.npy
  echo "Heads matter." | headwise encode --model all-MiniLM-L6-v2 --json)"};

struct EncodeFlags {
  std::string model;
  std::string sentences = "-";
  std::string out;
  std::size_t threads = 0;  // 0: all
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

std::string cut_text(const SentenceEmbeddings& done, std::size_t max_tokens) {
  const auto cut = std::ranges::count_if(
      done.cut, [](std::size_t tokens) { return tokens != 0; });
  if (cut == 0) {
    return "";
  }
  const auto most = std::ranges::max_element(done.cut);
  return say(
      {"{} of them had more than {} tokens; the rest was cut off (up to "
       "{} tokens, in line {})\n",
       "그중 {}개는 토큰이 {}개를 넘어 나머지를 잘라 냈습니다(최대 {}개, "
       "{}번째 줄)\n"},
      cut, max_tokens, *most, most - done.cut.begin() + 1);
}

std::string summary(const SentenceEncoder& model,
                    const SentenceEmbeddings& done, double seconds,
                    const std::string& out) {
  const std::size_t count = done.embeddings.extent(0);
  return say({"{} sentences, {} tokens, in {:.3g} s: {:.4g} sentences/s\n",
              "문장 {}개, 토큰 {}개, {:.3g}초: 초당 문장 {:.4g}개\n"},
             count, done.tokens, seconds,
             static_cast<double>(count) / std::max(seconds, 1e-9)) +
         cut_text(done, model.settings().max_tokens) +
         say({"{}: embeddings of shape ({}, {})\n",
              "{}: 임베딩, 모양 ({}, {})\n"},
             shown(out), count, model.embedding_size());
}

FilePlan files_of(const EncodeFlags& flags) {
  FilePlan plan;
  plan.input("--model", flags.model);
  plan.input("FILE", flags.sentences);
  plan.output("--out", flags.out);
  if (flags.json) {
    plan.printed("--json");
  }
  return plan;
}

Outcome run_encode(const EncodeFlags& flags, const Streams& streams) {
  if (flags.out.empty() && !flags.json) {
    return usage("expected --out FILE.npy, or --json");
  }
  const FilePlan files = files_of(flags);
  HEADWISE_TRY(files.check());
  const auto text = read_text("FILE", flags.sentences);
  HEADWISE_TRY(text);
  const std::vector<std::string_view> sentences = text_lines(*text);
  HEADWISE_TRY(check_lines({"FILE", name_of_text(flags.sentences)}, sentences,
                           "one sentence a line"));
  const auto executor = executor_with(flags.threads);
  HEADWISE_TRY(executor);
  const auto model = read_model(flags.model);
  HEADWISE_TRY(model);
  const auto begin = std::chrono::steady_clock::now();
  const auto done = [&] {
    ProgressBar bar{"encode", "sentences"};
    return model->encode(sentences,
                         {.progress = bar.progress(), .executor = &*executor});
  }();
  HEADWISE_TRY(done);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  if (!flags.out.empty()) {
    HEADWISE_TRY(written(write_npy(flags.out, done->embeddings)));
  }
  return flags.json
             ? print(streams.out, json_lines(sentences, *done))
             : files.print_summary(
                   streams, summary(*model, *done, took.count(), flags.out));
}

void add_options(const Arguments& command, EncodeFlags& flags) {
  command
      .add_text("--model", flags.model, "DIR",
                "a BERT-family model folder: config.json, vocab.txt, "
                "model.safetensors")
      .required();
  command.add_text("FILE", flags.sentences, "FILE|-",
                   "one sentence per line (default -: standard input)");
  command.add_text("--out", flags.out, "FILE.npy",
                   "write the embeddings: (sentences, size)");
  command.add_flag("--json", flags.json, "print one line of JSON per sentence");
  add_threads_option(command, flags.threads);
}

}  // namespace

void add_encode(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kHelp, add_options, run_encode);
}

}  // namespace headwise::cli
