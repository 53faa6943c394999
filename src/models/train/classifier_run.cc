#include "headwise/train/classifier_run.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "distribute/or_tell.h"
#include "train/classifier_state.h"
#include "train/same_run.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kClassifierRun = "train";
constexpr double kWeightDecay = 0.01;

Status check(const ClassifierSettings& settings, const Transformer& encoder,
             const ClassifierExamples& examples) {
  if (examples.ids.empty()) {
    return argument_error(kClassifierRun, "examples", "has no texts",
                          "at least 1");
  }
  HEADWISE_TRY(check_at_least_one(kClassifierRun, "batch", settings.batch));
  if (settings.arithmetic != encoder.arithmetic()) {
    return value_error(
        kClassifierRun, "arithmetic", std::string(name_of(settings.arithmetic)),
        message("{}, as the encoder", name_of(encoder.arithmetic())));
  }
  return examples.targets.size() == examples.ids.size()
             ? ok()
             : argument_error(
                   kClassifierRun, "examples",
                   message("has {} targets", examples.targets.size()),
                   std::to_string(examples.ids.size()));
}

}  // namespace

Result<ClassifierExamples> ClassifierExamples::of(
    const LabelledText& text, const SentenceEncoder& encoder,
    const LabelProbe& probe, const SentenceOptions& options) try {
  HEADWISE_ASSIGN(auto targets, targets_of(text, probe.labels()));
  HEADWISE_ASSIGN(auto tokens, encoder.tokenize(text.texts, options));
  const auto cut = std::ranges::count_if(
      tokens.cut, [](std::size_t tokens_cut) { return tokens_cut != 0; });
  return ClassifierExamples{std::move(tokens.ids), std::move(targets),
                            text.sha256(), static_cast<std::size_t>(cut)};
} catch (...) {
  return caught_out_of_memory();
}

Result<ClassifierRun> ClassifierRun::create(const ClassifierSettings& settings,
                                            SentenceEncoder encoder,
                                            LabelProbe probe,
                                            ClassifierExamples examples,
                                            Communicator* group) {
  return or_tell(group, [&]() -> Result<ClassifierRun> {
    std::string model;
    std::string run;
    HEADWISE_TRY(busy_with(group, [&] {
      model = sha256_of_params(encoder.encoder().params());
      run = description(settings, model, probe, examples);
      return ok();
    }));
    if (group != nullptr) {
      HEADWISE_TRY(group->check_same("the run", run));
    }
    HEADWISE_TRY(check(settings, encoder.encoder(), examples));
    HEADWISE_ASSIGN(auto optimizer, Optimizer::create(AdamWConfig{
                                        .learning_rate = settings.learning_rate,
                                        .weight_decay = kWeightDecay}));
    return ClassifierRun(std::make_unique<State>(
        settings, std::move(encoder), std::move(probe), std::move(examples),
        std::move(model), std::move(optimizer), group));
  });
}

Status ClassifierRun::resume(const Checkpoint& checkpoint,
                             const std::string& path) {
  return or_tell(state_->group(),
                 [&] { return state_->resume(checkpoint, path); });
}

Status ClassifierRun::step(const Executor& executor) {
  return or_tell(state_->group(), [&] { return state_->step(executor); });
}

Status ClassifierRun::write_checkpoint_to(const std::string& path) const {
  return or_tell(state_->group(),
                 [&] { return state_->write_checkpoint_to(path); });
}

ModelChanges ClassifierRun::changes() const {
  return {.params = encoder().encoder().params(), .probe = &probe()};
}

std::vector<double> ClassifierRun::epoch_losses() const {
  std::vector<double> means;
  const std::uint64_t steps = state_->steps_per_epoch();
  for (std::size_t first = 0; first < losses().size(); first += steps) {
    const std::size_t count =
        std::min<std::size_t>(steps, losses().size() - first);
    const auto epoch = std::span(losses()).subspan(first, count);
    means.push_back(std::accumulate(epoch.begin(), epoch.end(), 0.0) /
                    static_cast<double>(count));
  }
  return means;
}

std::uint64_t ClassifierRun::total_steps() const {
  return state_->total_steps();
}
const std::vector<double>& ClassifierRun::losses() const {
  return state_->losses();
}
const ClassifierSettings& ClassifierRun::settings() const {
  return state_->settings();
}
const SentenceEncoder& ClassifierRun::encoder() const {
  return state_->encoder();
}
const LabelProbe& ClassifierRun::probe() const { return state_->probe(); }

}  // namespace headwise::inline HEADWISE_ABI
