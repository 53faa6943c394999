#include "tune_settings.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "resumed_checkpoint.h"

namespace headwise::cli {
namespace {

const std::string kBatch = "batch";
const std::string kEpochs = "epochs";
const std::string kLearningRate = "learning_rate";
const std::string kMaxTokens = "max_tokens";

std::size_t count_of(const std::optional<std::size_t>& given,
                     const Checkpoint& checkpoint, const std::string& name,
                     std::size_t otherwise) {
  const auto* const saved = setting_of<std::int64_t>(checkpoint, name);
  const bool usable = saved != nullptr && *saved > 0;
  return given.value_or(usable ? static_cast<std::size_t>(*saved) : otherwise);
}

}  // namespace

TuneSettings tune_settings_of(const TuneFlags& flags,
                              const Checkpoint& checkpoint,
                              std::size_t most_tokens) {
  TuneSettings settings;
  settings.seed = Seed{flags.seed.value_or(checkpoint.seed.value)};
  settings.batch = count_of(flags.batch, checkpoint, kBatch, settings.batch);
  settings.epochs =
      count_of(flags.epochs, checkpoint, kEpochs, settings.epochs);
  if (const auto* const rate = setting_of<double>(checkpoint, kLearningRate)) {
    settings.learning_rate = *rate;
  }
  settings.learning_rate = flags.learning_rate.value_or(settings.learning_rate);
  settings.max_tokens =
      std::min(count_of(flags.max_tokens, checkpoint, kMaxTokens, most_tokens),
               most_tokens);
  return settings;
}

ModelConfig config_of(const TuneSettings& settings) {
  const auto count = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  return {{kBatch, count(settings.batch)},
          {kEpochs, count(settings.epochs)},
          {kLearningRate, settings.learning_rate},
          {kMaxTokens, count(settings.max_tokens)}};
}

}  // namespace headwise::cli
