// headwise generate
// Text after a prompt, token by token, with what the heads looked at.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "changed_heads.h"
#include "generate_files.h"
#include "generate_flags.h"
#include "generate_job.h"
#include "generate_page.h"
#include "generate_report.h"
#include "operation/arithmetic_option.h"
#include "shell/add_command.h"
#include "shell/error_of_option.h"
#include "shell/interrupt.h"
#include "shell/json.h"
#include "shell/models/attention_places.h"
#include "shell/output.h"
#include "shell/say.h"
#include "shell/terminal_text.h"
#include "shell/threads.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kGenerateHelp = {
    .name = "generate",
    .description = "generate text, and see the heads of each token",
    .examples =
        R"(  headwise generate --model SmolLM2-135M.gguf "The capital of France is"
  headwise generate --model gpt2 "Once upon" --temperature 0.8 --top-p 0.9 --seed 7
  headwise generate --model DIR "The cat sat. The cat" --heads 18.6,17.3
  headwise generate --model t5-small "translate English to German: Heads matter." \
    --heads cross.3.1 --attn-weights weights.npz
  headwise generate --model DIR "The cat sat. The cat" --ablate 18.6)",
    .footer =
        R"(The prompt is given to the model as it is: for a model that chats, pass the text
that its chat template makes.)"};

constexpr OptionRule kGenerateRules[] = {
    {"PROMPT", OptionRule::apart, "--prompts|--ids"},
    {"--prompts", OptionRule::apart, "--ids"},
    {"", OptionRule::always, "PROMPT|--prompts|--ids",
     "give a prompt, --prompts FILE or --ids IDS"},
    {"--attn-weights", OptionRule::needs, "--heads"},
    {"--page", OptionRule::excludes, "--ids", "the page shows texts"},
    {"--patch", OptionRule::needs, "--patch-from"},
    {"--patch-from", OptionRule::needs, "--patch"},
    {"--patch-from", OptionRule::apart, "--ids"},
    {"--top-k|--top-p|--seed", OptionRule::needs, "--temperature"}};

// Of the library's arguments, as options.
Error error_of_generating(const GenerateFlags& flags, const Error& error) {
  const std::string& argument = error.details().argument;
  if (argument.starts_with("temperature") || argument.starts_with("top_p")) {
    return error_of_argument(error);
  }
  if (argument.starts_with("prompt")) {
    return error_of_option(flags.prompt            ? "PROMPT"
                           : flags.prompts.empty() ? "--ids"
                                                   : "--prompts",
                           error);
  }
  return error_of_option(argument.starts_with("stops") ? "--stop" : "generate",
                         error);
}

// What the heads do in each variant: the model as it is, and changed.
struct Change {
  std::string name;
  ModelHooks hooks{};
  std::vector<AttentionPlace> ablate{};
};

Result<std::vector<Change>> changes_of(const GenerateFlags& flags,
                                       const GenerateJob& job) {
  std::vector<Change> changes(1);
  if (!flags.ablate.empty()) {
    HEADWISE_ASSIGN(auto heads, parse_places("--ablate", flags.ablate));
    for (const AttentionPlace& head : heads) {
      if (const auto place = job.model.model().place_of(head); !place) {
        return error_of_option("--ablate", place.error());
      }
    }
    changes.push_back(
        {.name = say("without {}", flags.ablate), .ablate = std::move(heads)});
  }
  if (!flags.patch.empty()) {
    HEADWISE_ASSIGN(const auto heads, parse_places("--patch", flags.patch));
    HEADWISE_ASSIGN(auto hooks, patched_heads(job.model, "--patch", heads,
                                              *job.patch_from, job.executor));
    changes.push_back(
        {say("{} from the other prompt", flags.patch), std::move(hooks)});
  }
  return changes;
}

// Prints the text while it is generated, if there is one text alone.
Outcome generate(const GenerateFlags& flags, const GenerateJob& job,
                 const Change& change, bool prints, const Interrupt& interrupt,
                 const Streams& streams, std::vector<Variant>& variants) {
  TextOptions options = job.options;
  options.hooks = change.hooks;
  options.ablate = change.ablate;
  options.executor = &job.executor;
  Outcome printed;
  const auto see = [&](const GeneratedToken&,
                       std::string_view text) -> Result<bool> {
    if (prints && !text.empty()) {
      printed = print(streams.out, text);
    }
    return printed && !interrupt.noted();
  };
  auto texts = job.model.generate(job.prompts, options, see);
  HEADWISE_TRY(printed);
  if (!texts) {
    return error_of_generating(flags, texts.error());
  }
  Variant& made = variants.emplace_back();
  made.name = change.name;
  made.texts = *std::move(texts);
  for (std::size_t n = 0; job.options.keep_tokens != 0 && n < made.texts.size();
       ++n) {
    HEADWISE_ASSIGN(
        made.whole_cache.emplace_back(),
        job.model.score(job.prompts[n], made.texts[n].ids, &job.executor));
  }
  return {};
}

// What the model's settings ask for and does not happen.
std::string unused_text(const GenerateJob& job) {
  const auto& unused = job.model.settings().unused;
  return unused.empty() ? ""
                        : say("not used of generation_config.json: {}\n",
                              fmt::format("{}", fmt::join(unused, ", ")));
}

Outcome print_rest(const GenerateJob& job, const std::vector<Variant>& variants,
                   bool printed, const Streams& streams) {
  HEADWISE_TRY(print(streams.out, printed ? "\n" : texts_text(job, variants)));
  for (const Variant& variant : variants) {
    for (std::size_t n = 0; n < variant.texts.size(); ++n) {
      HEADWISE_TRY(print(streams.out, looked_at_text(job, variant.texts[n], n) +
                                          loss_text(job, variant, n)));
    }
  }
  return {};
}

Outcome run_generate(const GenerateFlags& flags, const Streams& streams) {
  HEADWISE_TRY(flags.line.check(kGenerateRules));
  HEADWISE_TRY(flags.line.files().check());
  HEADWISE_ASSIGN(auto job, GenerateJob::create(flags));
  HEADWISE_ASSIGN(const auto changes, changes_of(flags, job));
  const bool prints = !flags.json && changes.size() == 1 &&
                      job.prompts.size() == 1 &&
                      job.model.tokenizer() != nullptr;
  HEADWISE_TRY(print(streams.err, unused_text(job)));
  const Interrupt interrupt;
  std::vector<Variant> variants;
  for (const Change& change : changes) {
    HEADWISE_TRY(
        generate(flags, job, change, prints, interrupt, streams, variants));
  }
  HEADWISE_TRY(write_generated(flags, job, variants[0]));
  HEADWISE_TRY(
      flags.json ? print(streams.out, json_text(generated_json(job, variants)))
                 : print_rest(job, variants, prints, streams));
  return flags.page.empty() ? Outcome()
                            : write_generated_page(flags, std::move(job),
                                                   variants[0].texts[0]);
}

void add_generate_options(const Arguments& command, GenerateFlags& flags) {
  command.keep_line(flags.line);
  command.add(
      {{"PROMPT", &flags.prompt, file(FileUse::input_if_dash, "PROMPT|-"),
        "the text to continue; of an encoder-decoder, what its encoder reads"},
       {"--model", &flags.model, input_file("DIR|FILE"),
        "the folder of a model, or a GGUF file", required()},
       {"--prompts", &flags.prompts, input_file("FILE"),
        "a file of prompts, one per line"},
       {"--ids", &flags.ids, any_text("IDS|FILE"),
        "prompts as token ids, 5,17,3, or a file of sequences"},
       {"--max-new-tokens", &flags.max_new_tokens, count(),
        "generate at most N tokens (default 64)"},
       {"--stop", &flags.stops, texts("TEXT"),
        "end before this text; may be given several times"},
       arithmetic_option(flags.arithmetic),
       threads_option(flags.threads),
       {"--json", &flags.json, flag(), "print JSON"}});
  command.under("Sampling")
      .add(
          {{"--temperature", &flags.temperature,
            real("T", number_between(0, 1e6, "a number from 0 on")),
            "draw tokens; 0 (default): always the likeliest"},
           {"--top-k", &flags.top_k, number(),
            "of the K likeliest (default: all)"},
           {"--top-p", &flags.top_p, real("P", probability()),
            "of the likeliest that have this probability together (default 1)"},
           {"--seed", &flags.seed, number(),
            "of the random numbers (default 0)"}});
  command.under("Heads").add(
      {{"--heads", &flags.heads, any_text("HEADS"),
        "show where these heads looked for each token, 18.6,17.3 or "
        "cross.3.1"},
       {"--attn-weights", &flags.attn_weights, output_file("F.npz"),
        "write the weights of --heads, an entry for each: (tokens, L)"},
       {"--stats", &flags.stats, output_file("F.json"),
        "write statistics of every head for each token"},
       {"--received", &flags.received, output_file("F.npz"),
        "write the attention that each token received, an entry for each "
        "layer: (heads, L)"},
       {"--logits", &flags.logits, output_file("F.npy"),
        "write the logits of each token, (tokens, vocab_size)"},
       {"--page", &flags.page, output_file("F.html"),
        "write a page of the prompt and the text, with every head"},
       {"--keep-tokens", &flags.keep_tokens, count(),
        "keep N tokens in the cache of each layer, those that received most "
        "attention and the last"},
       {"--ablate", &flags.ablate, any_text("HEADS"),
        "generate without these heads, too"},
       {"--patch", &flags.patch, any_text("HEADS"),
        "generate with what these heads give on the prompt of --patch-from, "
        "too"},
       {"--patch-from", &flags.patch_from, text("PROMPT"),
        "another prompt with as many tokens"}});
}

}  // namespace

void add_generate(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kGenerateHelp, add_generate_options, run_generate);
}

}  // namespace headwise::cli
