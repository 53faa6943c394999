#include "generate_job.h"

#include <utility>

#include "operation/arithmetic_option.h"
#include "operation/models/text_file.h"
#include "operation/read_tokens.h"
#include "shell/error_of_option.h"
#include "shell/models/attention_places.h"
#include "shell/models/read_model.h"
#include "shell/outcome.h"
#include "shell/threads.h"

namespace headwise::cli {
namespace {

Result<TextGenerator> read_generator(const GenerateFlags& flags) {
  HEADWISE_TRY(check_model_folder(flags.model));
  const ModelAccess access{.arithmetic = arithmetic_of(flags.arithmetic)};
  const bool needs_texts =
      flags.ids.empty() || !flags.stops.empty() || !flags.patch_from.empty();
  auto model = TextGenerator::read(flags.model, access);
  if (!model && !needs_texts) {  // ids need no tokenizer
    model = TextGenerator::read_ids_only(flags.model, access);
  }
  return model ? std::move(model) : error_of_option("--model", model.error());
}

Result<std::vector<TokenId>> ids_of(const TextGenerator& model,
                                    std::string_view option,
                                    std::string_view text) {
  auto ids = model.prompt(text);
  if (!ids) {
    return error_of_option(option, ids.error());
  }
  return ids->empty() ? option_error(option, "has no tokens", "at least 1")
                      : std::move(ids);
}

Status read_prompts(const GenerateFlags& flags, GenerateJob& job) {
  if (!flags.ids.empty()) {
    HEADWISE_ASSIGN(job.prompts, read_ids_or_file("--ids", flags.ids));
    return ok();
  }
  if (flags.prompt) {
    HEADWISE_ASSIGN(auto text, read_text_argument(*flags.prompt));
    job.texts.push_back(std::move(text));
  } else {
    HEADWISE_ASSIGN(const auto file, read_text_file(flags.prompts));
    job.texts.assign(file.texts.begin(), file.texts.end());
  }
  const std::string_view option = flags.prompt ? "PROMPT" : "--prompts";
  for (const std::string& text : job.texts) {
    HEADWISE_ASSIGN(auto ids, ids_of(job.model, option, text));
    job.prompts.push_back(std::move(ids));
  }
  return ok();
}

// What a file for one prompt excludes.
Status check_one_prompt(const GenerateFlags& flags, std::size_t prompts) {
  for (const auto& [option, given] : {std::pair("--logits", &flags.logits),
                                      {"--page", &flags.page},
                                      {"--ablate", &flags.ablate},
                                      {"--patch", &flags.patch}}) {
    if (!given->empty() && prompts != 1) {
      return usage_error(message("{} is for one prompt", option));
    }
  }
  return ok();
}

}  // namespace

Result<GenerateJob> GenerateJob::create(const GenerateFlags& flags) {
  TextOptions options{.max_new_tokens = flags.max_new_tokens,
                      .sampling = {.temperature = flags.temperature,
                                   .top_k = flags.top_k,
                                   .top_p = flags.top_p,
                                   .seed = Seed{flags.seed}},
                      .stops = flags.stops,
                      .keep_tokens = flags.keep_tokens,
                      .statistics = !flags.stats.empty(),
                      .received = !flags.received.empty(),
                      .logits = !flags.logits.empty()};
  if (!flags.heads.empty()) {
    HEADWISE_ASSIGN(options.heads, parse_places("--heads", flags.heads));
  }
  HEADWISE_ASSIGN(auto model, read_generator(flags));
  for (const AttentionPlace& head : options.heads) {
    if (head.kind == AttentionKind::encoder) {
      return option_error("--heads", message("has {}", name_of(head)),
                          "heads of the decoder, LAYER.HEAD, or "
                          "cross.LAYER.HEAD");
    }
    if (const auto place = model.model().place_of(head); !place) {
      return error_of_option("--heads", place.error());
    }
  }
  HEADWISE_ASSIGN(auto executor, executor_with(flags.threads));
  GenerateJob job{.model = std::move(model),
                  .executor = std::move(executor),
                  .options = std::move(options)};
  HEADWISE_TRY(read_prompts(flags, job));
  HEADWISE_TRY(check_one_prompt(flags, job.prompts.size()));
  if (!flags.patch_from.empty()) {
    HEADWISE_ASSIGN(auto other,
                    ids_of(job.model, "--patch-from", flags.patch_from));
    if (other.size() != job.prompts[0].size()) {
      return option_error("--patch-from",
                          message("has {} tokens", other.size()),
                          message("{} as the prompt", job.prompts[0].size()));
    }
    job.patch_from = std::move(other);
  }
  return job;
}

}  // namespace headwise::cli
