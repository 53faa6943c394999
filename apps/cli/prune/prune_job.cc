#include "prune_job.h"

#include <fmt/format.h>

#include <utility>

#include "shell/outcome.h"
#include "shell/sha256.h"

namespace headwise::cli {
namespace {

Error usage_error(std::string message) {
  return {ErrorCode::invalid_argument, {.given = std::move(message)}};
}

Status check_options(const PruneFlags& flags) {
  const int amounts = (flags.keep ? 1 : 0) + (flags.remove.empty() ? 0 : 1) +
                      (flags.max_drop.empty() ? 0 : 1);
  if (flags.out.empty() == flags.curve.empty()) {
    return usage_error("expected either --out DIR or --curve FILE.svg");
  }
  if (!flags.out.empty() && amounts != 1) {
    return usage_error(
        "expected one of --keep, --remove and --max-drop beside --out");
  }
  if (!flags.curve.empty() && amounts != 0) {
    return usage_error(
        "--curve is of every number of heads, expected no --keep, --remove or "
        "--max-drop");
  }
  if (!flags.curve.empty() && !flags.export_as.empty()) {
    return usage_error("--export needs --out DIR");
  }
  if (flags.data.empty() &&
      (!flags.curve.empty() || !flags.max_drop.empty() || flags.correct)) {
    return usage_error(fmt::format("{} needs --data FILE",
                                   !flags.curve.empty()      ? "--curve"
                                   : !flags.max_drop.empty() ? "--max-drop"
                                                             : "--correct"));
  }
  return ok();
}

Result<ImportanceFile> read_scores(const PruneFlags& flags,
                                   const LearnedModel& model) {
  auto scores = read_importance(flags.scores);
  const auto digest = digest_of_model(model.encoder);
  if (!scores || !digest) {
    return scores ? digest.error() : scores.error();
  }
  std::vector<std::vector<std::size_t>> heads;
  const BertEncoder& encoder = model.encoder.encoder();
  for (std::size_t n = 0; n < encoder.layers().size(); ++n) {
    heads.push_back(heads_in(encoder.config(), n));
  }
  HEADWISE_TRY(check_model(*scores, flags.scores, *digest, heads));
  return scores;
}

}  // namespace

Result<PruneJob> PruneJob::create(const PruneFlags& flags,
                                  const Executor& executor) {
  HEADWISE_TRY(check_options(flags));
  std::optional<LabelledText> text;
  if (!flags.data.empty()) {
    auto read = read_labelled_text("--data", flags.data);
    HEADWISE_TRY(read);
    text = *std::move(read);
  }
  auto model = read_learned_model(flags.model);
  if (!model) {
    return model.error();
  }
  auto scores = read_scores(flags, *model);
  HEADWISE_TRY(scores);
  auto digest = digest_of_folder(flags.model, model->encoder);
  HEADWISE_TRY(digest);
  PruneJob job(flags, executor, *std::move(model), *std::move(scores),
               std::move(text));
  job.digest_ = *std::move(digest);
  const std::string why_not = job.why_no_accuracy();
  if (!why_not.empty() && (!flags.curve.empty() || !flags.max_drop.empty())) {
    return usage_error(
        fmt::format("{} needs an accuracy: {}",
                    flags.curve.empty() ? "--max-drop" : "--curve", why_not));
  }
  if (why_not.empty()) {
    const auto targets =
        targets_of("--data", *job.text_, job.model_.probe->labels());
    HEADWISE_TRY(targets);
  }
  return job;
}

TextOptions PruneJob::text_options() const {
  TextOptions options;
  if (flags_.max_tokens != 0) {
    options.max_tokens = flags_.max_tokens;
  }
  options.executor = executor_;
  return options;
}

ConstantPart PruneJob::constant() const {
  return flags_.drop_constant ? ConstantPart::dropped : ConstantPart::into_bias;
}

std::string PruneJob::why_no_accuracy() const {
  if (!text_) {
    return "there is no --data";
  }
  if (!text_->labelled()) {
    return "--data has no labels";
  }
  return model_.probe ? ""
                      : "the model has no classifier, which headwise train "
                        "--model gives it";
}

Journal PruneJob::journal(const std::string& output) const {
  return Journal(output, {{"model", digest_},
                          {"method", scores_.method},
                          {"data", text_ ? sha256_of_text(*text_->bytes) : ""},
                          {"max_tokens", flags_.max_tokens},
                          {"seed", flags_.seed},
                          {"drop_constant", flags_.drop_constant},
                          {"order", json_of(scores_)}});
}

PrunedAccuracy PruneJob::accuracy() const {
  return {flags_.model, *model_.probe, *text_, text_options(), constant()};
}

}  // namespace headwise::cli
