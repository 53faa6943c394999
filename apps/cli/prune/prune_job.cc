#include "prune_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "headwise/models/sentence_encoder.h"
#include "shell/error_of_option.h"
#include "shell/json.h"
#include "shell/models/head_list.h"
#include "shell/models/read_labelled.h"
#include "shell/models/read_model.h"
#include "shell/outcome.h"
#include "shell/read_text.h"

namespace headwise::cli {
namespace {

Result<ImportanceFile> read_scores(const PruneFlags& flags,
                                   const SentenceClassifier& model) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 22;
  HEADWISE_ASSIGN(const auto text,
                  read_text("--scores", flags.scores, kMostBytes));
  auto scores = parse_importance(text, flags.scores);
  if (!scores) {
    return error_of_option("--scores", scores.error());
  }
  if (Status s = check_importance(*scores, flags.scores, model.encoder); !s) {
    return error_of_option("--scores", s.error());
  }
  return scores;
}

// The order of --heads: those first, then the others.
Result<ImportanceFile> chosen_heads(const PruneFlags& flags,
                                    const Transformer& encoder) {
  HEADWISE_ASSIGN(const auto chosen, parse_head_list("--heads", flags.heads));
  const HeadsLeft left = heads_left(encoder);
  HEADWISE_TRY(check_heads("--heads", chosen, left));
  ImportanceFile file;
  file.method = "--heads";
  auto& order = file.importance.order;
  order = chosen;
  for (std::size_t n = 0; n < left.size(); ++n) {
    for (const std::size_t head : left[n]) {
      if (std::ranges::find(chosen, HeadId{n, head}) == chosen.end()) {
        order.push_back({n, head});
      }
    }
  }
  return file;
}

}  // namespace

Status check_prune_options(const PruneFlags& flags) {
  using enum OptionRule::Kind;
  static constexpr OptionRule kRules[] = {
      {"", always, "--scores|--heads",
       "expected either --scores FILE.json or --heads LIST"},
      {"--scores", never, "--heads",
       "expected either --scores FILE.json or --heads LIST"},
      {"--heads", never, "--keep|--remove|--max-drop|--curve",
       "--heads names the heads: leave --keep, --remove, --max-drop and "
       "--curve out"},
      {"", always, "--out|--curve",
       "expected either --out DIR or --curve FILE.svg"},
      {"--out", never, "--curve",
       "expected either --out DIR or --curve FILE.svg"},
      {"--out", always, "--heads|--keep|--remove|--max-drop",
       "expected one of --keep, --remove and --max-drop with --out"},
      {"--out", never, "--keep+--remove|--keep+--max-drop|--remove+--max-drop",
       "expected one of --keep, --remove and --max-drop with --out"},
      {"--curve", never, "--keep|--remove|--max-drop",
       "--curve is for every number of heads: leave --keep, --remove and "
       "--max-drop out"}};
  HEADWISE_TRY(flags.line.check(kRules));
  // The default, 0, can also be typed.
  if (flags.curve.empty() && flags.random != 0) {
    return usage_error("--random needs --curve FILE");
  }
  static constexpr OptionRule kFileRules[] = {
      {"--export", never, "--curve", "--export needs --out DIR"},
      {"--curve|--max-drop|--correct", needs, "--data", "--data FILE"}};
  return flags.line.check(kFileRules);
}

Result<PruneJob> PruneJob::create(const PruneFlags& flags,
                                  const Executor& executor) {
  HEADWISE_TRY(check_prune_options(flags));
  std::optional<LabelledText> text;
  if (!flags.data.empty()) {
    HEADWISE_ASSIGN(text, read_labelled("--data", flags.data));
  }
  HEADWISE_ASSIGN(auto model, read_classifier(flags.model));
  HEADWISE_ASSIGN(auto scores,
                  flags.heads.empty()
                      ? read_scores(flags, model)
                      : chosen_heads(flags, model.encoder.encoder()));
  HEADWISE_ASSIGN(auto digest, digest_of_model(flags.model, model.encoder));
  PruneJob job(flags, executor, std::move(model), std::move(scores),
               std::move(text));
  job.digest_ = std::move(digest);
  const std::optional<Error> why_not = job.why_no_accuracy();
  if (why_not && (!flags.curve.empty() || !flags.max_drop.empty())) {
    return usage_error(message("{} needs an accuracy, but {}",
                               flags.curve.empty() ? "--max-drop" : "--curve",
                               why_not->what()));
  }
  if (!why_not) {
    const auto targets = targets_of(*job.text_, job.model_.probe->labels());
    if (!targets) {
      return error_of_option("--data", targets.error());
    }
  }
  return job;
}

SentenceOptions PruneJob::text_options(Progress progress) const {
  SentenceOptions options{.progress = std::move(progress),
                          .executor = executor_};
  if (flags_.max_tokens != 0) {
    options.max_tokens = flags_.max_tokens;
  }
  return options;
}

ConstantPart PruneJob::constant() const {
  return flags_.drop_constant ? ConstantPart::dropped : ConstantPart::into_bias;
}

std::optional<Error> PruneJob::why_no_accuracy() const {
  if (!text_) {
    return usage_error("no --data given");
  }
  if (!text_->labelled()) {
    return usage_error("--data has no labels");
  }
  if (!model_.probe) {
    return usage_error(
        "the model has no classifier; train one with headwise train --model");
  }
  return {};
}

Journal PruneJob::journal(const std::string& output) const {
  return Journal(output, {{"model", digest_},
                          {"method", scores_.method},
                          {"data", text_ ? text_->sha256() : ""},
                          {"max_tokens", flags_.max_tokens},
                          {"seed", flags_.seed},
                          {"drop_constant", flags_.drop_constant},
                          {"order", importance_json(scores_)}});
}

PrunedAccuracy PruneJob::accuracy() const {
  return PrunedAccuracy(flags_.model, *model_.probe, *text_, text_options(),
                        constant());
}

}  // namespace headwise::cli
