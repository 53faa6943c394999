#include "train/classifier_checkpoint.h"

#include "base/check.h"
#include "headwise/interop/file_subject.h"
#include "train/resumed_checkpoint.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kClassifierCheckpoint = "train";
constexpr const char* kClassifierBatch = "batch";
constexpr const char* kEpochs = "epochs";
constexpr const char* kLearningRate = "learning_rate";
constexpr const char* kMaxTokens = "max_tokens";
constexpr const char* kDataHash = "data_sha256";
constexpr const char* kModelHash = "model_sha256";

Status check_hash(const Checkpoint& checkpoint, const std::string& path,
                  const std::string& name, std::string_view other,
                  const std::string& expected) {
  const auto* const saved = setting_of<std::string>(checkpoint, name);
  if (saved == nullptr || *saved == expected) {
    return ok();
  }
  return FileSubject{std::string(kClassifierCheckpoint), path}.bad_data(
      message("is of a run with {}, of SHA-256 {}", Message(other), *saved),
      expected);
}

std::size_t count_of(const Checkpoint& checkpoint, const std::string& name,
                     std::size_t otherwise) {
  const auto* const saved = setting_of<std::int64_t>(checkpoint, name);
  return saved != nullptr && *saved > 0 ? static_cast<std::size_t>(*saved)
                                        : otherwise;
}

}  // namespace

ClassifierSettings classifier_settings_of(const Checkpoint& checkpoint) {
  ClassifierSettings settings;
  settings.seed = checkpoint.seed;
  settings.batch = count_of(checkpoint, kClassifierBatch, settings.batch);
  settings.epochs = count_of(checkpoint, kEpochs, settings.epochs);
  if (const auto* const rate = setting_of<double>(checkpoint, kLearningRate)) {
    settings.learning_rate = *rate;
  }
  settings.max_tokens = count_of(checkpoint, kMaxTokens, settings.max_tokens);
  settings.arithmetic = arithmetic_in(checkpoint.config);
  return settings;
}

ModelConfig config_of(const ClassifierOrigin& run) {
  const auto count = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  ModelConfig config = {{kClassifierBatch, count(run.settings.batch)},
                        {kEpochs, count(run.settings.epochs)},
                        {kLearningRate, run.settings.learning_rate},
                        {kMaxTokens, count(run.settings.max_tokens)}};
  // In the list they would be copied as variants, and if the copy of a variant
  // throws, the one of libstdc++ 12 runs into undefined behaviour.
  config.emplace(kDataHash, run.data_sha256);
  config.emplace(kModelHash, run.model_sha256);
  put_arithmetic(run.settings.arithmetic, config);
  return config;
}

Status check_checkpoint(const Checkpoint& checkpoint, const std::string& path,
                        const ClassifierOrigin& run, CheckpointView saved) {
  HEADWISE_TRY(check_hash(checkpoint, path, kDataHash, "other training data",
                          run.data_sha256));
  HEADWISE_TRY(check_hash(checkpoint, path, kModelHash, "another model",
                          run.model_sha256));
  if (const auto* const epochs =
          setting_of<std::int64_t>(checkpoint, kEpochs)) {
    saved.config.insert_or_assign(kEpochs, *epochs);
  }
  HEADWISE_TRY(check_resumed(checkpoint, path, saved));
  if (checkpoint.step > run.total_steps) {
    return argument_error(
        kClassifierCheckpoint, kEpochs,
        message("is {}: {} steps", run.settings.epochs, run.total_steps),
        message("at least the {} of {}", checkpoint.step, path));
  }
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
