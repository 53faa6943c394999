#include "headwise/train/induction_run.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/module/optimizer.h"
#include "headwise/train/next_token.h"
#include "train/failed_step.h"
#include "train/finite_values.h"
#include "train/next_tokens.h"
#include "train/repeated_words.h"
#include "train/resumed_checkpoint.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::size_t kInductionBatch = 32;  // texts of a step
constexpr double kInductionLargestGradient = 1;
constexpr double kBeta2 = 0.99;  // of AdamW: the run is short
constexpr std::string_view kInductionLoss = "loss";
constexpr std::uint64_t kInductionFirstUnseen = std::uint64_t{1} << 63;

// Sizes of the model besides its vocabulary's.
constexpr std::size_t kHidden = 64;
constexpr std::size_t kLayers = 2;
constexpr std::size_t kHeads = 4;

constexpr double kNextHead = 0.2;  // of the size of the head before it

// Makes each head of the last layer smaller than the one before it.
Status shrink_heads(CausalModel& model) {
  const std::string layer = "layers." + std::to_string(kLayers - 1) + ".w_";
  constexpr std::size_t kSize = kHidden / kHeads;
  return model.update([&](std::string_view name, std::span<float> values) {
    if (!name.starts_with(layer) || !name.ends_with(".weight")) {
      return ok();
    }
    // The features of the heads are the columns of w_o, the rows of the others.
    const bool columns = name.ends_with("w_o.weight");
    for (std::size_t n = 0; n < values.size(); ++n) {
      const std::size_t feature = columns ? n % kHidden : n / kHidden;
      for (std::size_t h = 0; h < feature / kSize; ++h) {
        values[n] = static_cast<float>(values[n] * kNextHead);
      }
    }
    return ok();
  });
}

// The targets of the first half of each text, which nothing says, are ignored.
void ignore_first_halves(const RaggedTokens& texts,
                         std::vector<std::int64_t>& targets) {
  auto at = targets.begin();
  for (const auto& text : texts) {
    const auto size = static_cast<std::ptrdiff_t>(text.size());
    std::fill_n(at, size / 2, kIgnoredTarget);
    at += size;
  }
}

}  // namespace

InductionSettings induction_settings_of(const Checkpoint& checkpoint) {
  InductionSettings settings{.seed = checkpoint.seed};
  if (const auto* const rate =
          setting_of<double>(checkpoint, "learning_rate")) {
    settings.learning_rate = *rate;
  }
  settings.arithmetic = arithmetic_in(checkpoint.config);
  return settings;
}

InductionRun::InductionRun(const InductionSettings& settings, CausalModel model,
                           Optimizer optimizer)
    : settings_(settings),
      model_(std::move(model)),
      optimizer_(std::move(optimizer)) {}

Result<InductionRun> InductionRun::create(
    const InductionSettings& settings) try {
  HEADWISE_ASSIGN(auto vocabulary, repeated_vocabulary());
  const CausalConfig config = {.vocab_size = vocabulary.size(),
                               .hidden_size = kHidden,
                               .num_layers = kLayers,
                               .num_heads = kHeads,
                               .max_positions = kLongestRepeated};
  HEADWISE_ASSIGN(auto model,
                  CausalModel::create(config, std::move(vocabulary),
                                      settings.seed, settings.arithmetic));
  HEADWISE_TRY(shrink_heads(model));
  HEADWISE_ASSIGN(auto optimizer, Optimizer::create(AdamWConfig{
                                      .learning_rate = settings.learning_rate,
                                      .beta2 = kBeta2}));
  return InductionRun(settings, std::move(model), std::move(optimizer));
} catch (...) {
  return caught_out_of_memory();
}

// ---- Steps. ----

Result<double> InductionRun::take_step(const Executor& executor) {
  HEADWISE_ASSIGN(const auto texts,
                  repeated_texts(settings_.seed, steps() * kInductionBatch,
                                 kInductionBatch));
  auto targets = next_tokens(texts);
  ignore_first_halves(texts, targets);
  HEADWISE_ASSIGN(auto saved,
                  model_.forward_for_backward(texts, {.executor = &executor}));
  HEADWISE_ASSIGN(
      const auto loss,
      cross_entropy(saved.logits(), {targets.data(), {targets.size()}}));
  if (!std::isfinite(loss.loss)) {
    return Error{ErrorCode::out_of_range,
                 {.given = message("the loss is {}", number_text(loss.loss))}};
  }
  HEADWISE_ASSIGN(auto gradients, model_.backward(saved, loss.d_logits));
  std::vector<std::span<float>> all;
  for (auto& [name, gradient] : gradients.params) {
    HEADWISE_TRY(
        check_finite_values("the gradient of " + name, gradient.elements()));
    all.push_back(gradient.elements());
  }
  HEADWISE_TRY(clip_gradient_norm(all, kInductionLargestGradient));
  optimizer_.begin_step();
  const auto change = [&](std::string_view name,
                          std::span<float> values) -> Status {
    HEADWISE_TRY(optimizer_.update(
        name, values, gradients.params.find(name)->second.elements()));
    return check_finite_values(name, values);
  };
  HEADWISE_TRY(model_.update(change));
  return loss.loss;
}

Status InductionRun::step(const Executor& executor) try {
  const auto loss = take_step(executor);
  if (!loss) {
    return failed_step(steps() + 1, loss.error());
  }
  losses_.push_back(*loss);
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Result<RaggedTokens> InductionRun::unseen_texts(std::size_t count) const {
  return repeated_texts(settings_.seed, kInductionFirstUnseen, count);
}

// ---- Checkpoints. ----

// Without the optimiser.
CheckpointView InductionRun::saved() const {
  const CausalConfig& config = model_.config();
  const auto number = [](std::size_t size) {
    return static_cast<std::int64_t>(size);
  };
  CheckpointView run{.step = losses_.size(),
                     .seed = settings_.seed,
                     .config = {{"task", std::string(kInductionTask)},
                                {"hidden_size", number(config.hidden_size)},
                                {"num_layers", number(config.num_layers)},
                                {"num_heads", number(config.num_heads)},
                                {"learning_rate", settings_.learning_rate}},
                     .params = model_.params(),
                     .records = {{std::string(kInductionLoss), losses_}}};
  put_arithmetic(settings_.arithmetic, run.config);
  return run;
}

Status InductionRun::write_checkpoint_to(const std::string& path) const try {
  return write_run(path, saved(), optimizer_.state());
} catch (...) {
  return caught_out_of_memory();
}

Status InductionRun::resume(const Checkpoint& checkpoint,
                            const std::string& path) try {
  HEADWISE_TRY(check_resumed(checkpoint, path, saved()));
  HEADWISE_TRY(restore_optimizer(checkpoint.optimizer, path, optimizer_));
  HEADWISE_TRY(
      model_.update([&](std::string_view name, std::span<float> values) {
        restore_param(checkpoint, std::string(name), values);
        return ok();
      }));
  losses_ = checkpoint.records.at(std::string(kInductionLoss));
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
