#include "headwise/train/induction_run.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/interop/atomic_file.h"
#include "headwise/interop/safetensors.h"
#include "headwise/json/json.h"
#include "headwise/module/optimizer.h"
#include "headwise/train/next_token.h"
#include "interop/atomic_folder.h"
#include "interop/folder.h"
#include "models/model_folder.h"
#include "train/drawn_causal.h"
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

constexpr CausalSizes kSizes = {.vocab_size = kRepeatedTokens,
                                .hidden_size = 64,
                                .num_layers = 2,
                                .num_heads = 4,
                                .max_positions = kLongestRepeated};

constexpr double kNextHead = 0.2;  // of the size of the head before it

// Makes each head of the last layer smaller than the one before it.
Status shrink_heads(Transformer& model) {
  const std::string layer =
      "layers." + std::to_string(kSizes.num_layers - 1) + ".w_";
  constexpr std::size_t kHidden = kSizes.hidden_size;
  constexpr std::size_t kSize = kHidden / kSizes.num_heads;
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

InductionRun::InductionRun(const InductionSettings& settings, Transformer model,
                           Optimizer optimizer)
    : settings_(settings),
      model_(std::move(model)),
      optimizer_(std::move(optimizer)) {}

Result<InductionRun> InductionRun::create(
    const InductionSettings& settings) try {
  HEADWISE_ASSIGN(auto params, draw_causal(kSizes, settings.seed));
  HEADWISE_ASSIGN(auto model,
                  Transformer::create(causal_config(kSizes), std::move(params),
                                      {.use = ModelUse::training,
                                       .arithmetic = settings.arithmetic}));
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
  HEADWISE_ASSIGN(const auto logits, model_.logits(saved.hidden(), &executor));
  HEADWISE_ASSIGN(const auto loss,
                  cross_entropy(logits, {targets.data(), {targets.size()}}));
  if (!std::isfinite(loss.loss)) {
    return Error{ErrorCode::out_of_range,
                 {.given = message("the loss is {}", number_text(loss.loss))}};
  }
  HEADWISE_ASSIGN(auto gradients,
                  model_.backward_from_logits(saved, loss.d_logits));
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

// ---- The model's folder. ----

namespace {

constexpr std::string_view kWriteInduction = "write_model";

// A token is a word between white space.
std::string words_tokenizer() {
  Json vocab = Json::object();
  Json added = Json::array();
  const auto tokens = repeated_vocabulary();
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    vocab[tokens[id]] = id;
    if (tokens[id].starts_with('[')) {
      added.push_back({{"id", id},
                       {"content", tokens[id]},
                       {"single_word", false},
                       {"lstrip", false},
                       {"rstrip", false},
                       {"normalized", false},
                       {"special", true}});
    }
  }
  return Json{
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", added},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
      {"post_processor", nullptr},
      {"decoder", nullptr},
      {"model",
       {{"type", "WordLevel"}, {"vocab", vocab}, {"unk_token", "[UNK]"}}}}
      .dump(2);
}

}  // namespace

Status InductionRun::write_model(const std::string& folder,
                                 std::span<const std::string> keep) const try {
  const std::map<std::string, std::string> texts = {
      {"config.json", causal_config(kSizes)},
      {"tokenizer.json", words_tokenizer()}};
  std::vector<std::string> names(keep.begin(), keep.end());
  names.emplace_back(kParamsFile);
  for (const auto& [name, text] : texts) {
    names.push_back(name);
  }
  FolderEntries old;
  return write_folder_atomically(
      {.operation = kWriteInduction,
       .place = folder,
       .old = old,
       .last = "config.json",
       .keep = keep},
      [&](const std::string& fresh) -> Status {
        for (const auto& [name, text] : texts) {
          HEADWISE_TRY(write_file_atomically(path_in(fresh, name), text));
        }
        HEADWISE_TRY(write_safetensors(path_in(fresh, std::string(kParamsFile)),
                                       model_.params()));
        HEADWISE_ASSIGN(old, entries_of_files(kWriteInduction, folder, names));
        return ok();
      });
} catch (...) {
  return caught_out_of_memory();
}

// ---- Checkpoints. ----

// Without the optimiser.
CheckpointView InductionRun::saved() const {
  const TransformerShape& shape = model_.shape();
  const auto number = [](std::size_t size) {
    return static_cast<std::int64_t>(size);
  };
  CheckpointView run{.step = losses_.size(),
                     .seed = settings_.seed,
                     .config = {{"task", std::string(kInductionTask)},
                                {"hidden_size", number(shape.hidden_size)},
                                {"num_layers", number(shape.num_layers)},
                                {"num_heads", number(shape.num_heads)},
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
