#include "headwise/train/classifier_run.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "distribute/or_tell.h"
#include "headwise/base/any_view.h"
#include "headwise/base/function_ref.h"
#include "headwise/base/tensor.h"
#include "headwise/interop/file_subject.h"
#include "headwise/interop/sha256.h"
#include "headwise/module/loss.h"
#include "headwise/module/optimizer.h"
#include "train/epoch_order.h"
#include "train/failed_step.h"
#include "train/finite_values.h"
#include "train/ranked_steps.h"
#include "train/resumed_checkpoint.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOperation = "train";
constexpr double kLargestGradient = 1;  // norm of all gradients
constexpr double kWeightDecay = 0.01;
constexpr std::string_view kLoss = "loss";
constexpr const char* kClassifierWeight = "classifier.weight";
constexpr const char* kClassifierBias = "classifier.bias";
constexpr const char* kBatch = "batch";
constexpr const char* kEpochs = "epochs";
constexpr const char* kLearningRate = "learning_rate";
constexpr const char* kMaxTokens = "max_tokens";
constexpr const char* kDataHash = "data_sha256";
constexpr const char* kModelHash = "model_sha256";

// (N, C) -> (1, N, C)
TensorView<const float, 3> as_one_batch(const Tensor<float, 2>& x) {
  return {x.data(), {1, x.extent(0), x.extent(1)}};
}

template <std::size_t Rank>
Tensor<float, 1> flat(Tensor<float, Rank> x) {
  const std::size_t size = x.size();
  return std::move(x).template with_extents<1>({size});
}

// Of their names and elements.
std::string sha256_of_params(const std::map<std::string, AnyView>& params) {
  std::vector<std::span<const std::byte>> pieces;
  for (const auto& [name, view] : params) {
    const std::size_t count =
        std::accumulate(view.extents().begin(), view.extents().end(),
                        std::size_t{1}, std::multiplies<>());
    pieces.push_back(std::as_bytes(std::span(name)));
    pieces.push_back(std::as_bytes(
        std::span(static_cast<const float*>(view.data()), count)));
  }
  return sha256_of(pieces);
}

// Of tokens and targets; data of one digest may be cut at different lengths.
std::string sha256_of_examples(const ClassifierExamples& examples) {
  std::vector<std::span<const std::byte>> pieces;
  for (const auto& ids : examples.ids) {
    pieces.push_back(std::as_bytes(std::span(ids)));
  }
  pieces.push_back(std::as_bytes(std::span(examples.targets)));
  return sha256_of(pieces);
}

// What has to be the same on all ranks.
std::string description(const ClassifierSettings& settings,
                        const std::string& model, const LabelProbe& probe,
                        const ClassifierExamples& examples) {
  const std::string classifier =
      sha256_of_params({{kClassifierWeight, probe.linear().weight()},
                        {kClassifierBias, probe.linear().bias()}});
  return "model " + model + ", classifier " + classifier + ", data " +
         examples.sha256 + ", " + std::to_string(examples.ids.size()) +
         " examples " + sha256_of_examples(examples) + ", batch " +
         std::to_string(settings.batch) + ", epochs " +
         std::to_string(settings.epochs) + ", learning_rate " +
         number_text(settings.learning_rate, 17) + ", max_tokens " +
         std::to_string(settings.max_tokens) + ", seed " +
         std::to_string(settings.seed.value);
}

// Of the numbers that a run takes from it.
std::string description(const Checkpoint& checkpoint) {
  std::map<std::string, AnyView> numbers;
  for (const auto& [name, values] : checkpoint.optimizer.values) {
    numbers.emplace("optimizer/" + name, values.view());
  }
  for (const auto& [name, array] : checkpoint.params) {
    numbers.emplace("param/" + name, array.view());
  }
  return "step " + std::to_string(checkpoint.step) + ", numbers " +
         sha256_of_params(numbers);
}

Status check_hash(const Checkpoint& checkpoint, const std::string& path,
                  const std::string& name, std::string_view other,
                  const std::string& expected) {
  const auto* const saved = setting_of<std::string>(checkpoint, name);
  if (saved == nullptr || *saved == expected) {
    return ok();
  }
  return FileSubject{std::string(kOperation), path}.bad_data(
      "is of a run with " + std::string(other) + ", of SHA-256 " + *saved,
      expected);
}

std::size_t count_of(const Checkpoint& checkpoint, const std::string& name,
                     std::size_t otherwise) {
  const auto* const saved = setting_of<std::int64_t>(checkpoint, name);
  return saved != nullptr && *saved > 0 ? static_cast<std::size_t>(*saved)
                                        : otherwise;
}

ModelConfig config_of(const ClassifierSettings& settings) {
  const auto count = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  return {{kBatch, count(settings.batch)},
          {kEpochs, count(settings.epochs)},
          {kLearningRate, settings.learning_rate},
          {kMaxTokens, count(settings.max_tokens)}};
}

Status check_finite_gradients(
    const std::map<std::string, Tensor<float, 1>, std::less<>>& gradients) {
  for (const auto& [name, values] : gradients) {
    HEADWISE_TRY(
        check_finite_values("the gradient of " + name, values.elements()));
  }
  return ok();
}

Status check(const ClassifierSettings& settings,
             const ClassifierExamples& examples) {
  if (examples.ids.empty()) {
    return argument_error(kOperation, "examples", "has no texts", "at least 1");
  }
  HEADWISE_TRY(check_at_least_one(kOperation, kBatch, settings.batch));
  return examples.targets.size() == examples.ids.size()
             ? ok()
             : argument_error(kOperation, "examples",
                              "has " + std::to_string(examples.targets.size()) +
                                  " targets",
                              std::to_string(examples.ids.size()));
}

}  // namespace

ClassifierSettings classifier_settings_of(const Checkpoint& checkpoint) {
  ClassifierSettings settings;
  settings.seed = checkpoint.seed;
  settings.batch = count_of(checkpoint, kBatch, settings.batch);
  settings.epochs = count_of(checkpoint, kEpochs, settings.epochs);
  if (const auto* const rate = setting_of<double>(checkpoint, kLearningRate)) {
    settings.learning_rate = *rate;
  }
  settings.max_tokens = count_of(checkpoint, kMaxTokens, settings.max_tokens);
  return settings;
}

Result<ClassifierExamples> ClassifierExamples::of(
    const LabelledText& text, const SentenceEncoder& encoder,
    const LabelProbe& probe, const SentenceOptions& options) try {
  auto targets = targets_of(text, probe.labels());
  HEADWISE_TRY(targets);
  auto tokens = encoder.tokenize(text.texts, options);
  HEADWISE_TRY(tokens);
  const auto cut = std::ranges::count_if(
      tokens->cut, [](std::size_t tokens_cut) { return tokens_cut != 0; });
  return ClassifierExamples{std::move(tokens->ids), *std::move(targets),
                            text.sha256(), static_cast<std::size_t>(cut)};
} catch (...) {
  return caught_out_of_memory();
}

class ClassifierRun::State {
 public:
  State(const ClassifierSettings& settings, SentenceEncoder encoder,
        LabelProbe probe, ClassifierExamples examples,
        std::string source_sha256, Optimizer optimizer, Communicator* group)
      : settings_(settings),
        encoder_(std::move(encoder)),
        probe_(std::move(probe)),
        examples_(std::move(examples)),
        source_sha256_(std::move(source_sha256)),
        optimizer_(std::move(optimizer)),
        group_(group) {
    if (group_ != nullptr && group_->ranks() > 1) {
      ranked_.emplace(*group_, encoder_);
    }
  }

  Status resume(const Checkpoint& checkpoint, const std::string& path);
  Status step(const Executor& executor);
  Status write_checkpoint_to(const std::string& path);

  Communicator* group() const { return group_; }

  std::uint64_t steps_per_epoch() const {
    return (examples_.ids.size() - 1) / settings_.batch + 1;
  }
  std::uint64_t total_steps() const {
    return settings_.epochs * steps_per_epoch();
  }
  const std::vector<double>& losses() const { return losses_; }
  const ClassifierSettings& settings() const { return settings_; }
  const SentenceEncoder& encoder() const { return encoder_; }
  const LabelProbe& probe() const { return probe_; }

 private:
  using Gradients = std::map<std::string, Tensor<float, 1>, std::less<>>;
  struct Batch {
    RaggedTokens ids;
    std::vector<std::int64_t> targets;
  };

  Batch batch_of(std::uint64_t step);
  Result<double> train_on(const Batch& batch, const Executor& executor);
  Result<Tensor<float, 2>> forward(const Batch& batch,
                                   const Executor& executor);
  Result<Gradients> backward(const Tensor<float, 2>& embeddings,
                             TensorView<const float, 3> d_logits,
                             const Executor& executor);
  Status clip(Gradients& gradients);
  Status move(const Gradients& gradients);
  using Change =
      FunctionRef<Status(std::string_view name, std::span<float> values)>;
  Status update(Change change);
  Status update_classifier(Change change);
  std::map<std::string, AnyView> params() const;
  ModelConfig config() const;

  ClassifierSettings settings_;
  SentenceEncoder encoder_;
  LabelProbe probe_;
  ClassifierExamples examples_;
  std::string source_sha256_;  // of the encoder's parameters before training
  Optimizer optimizer_;
  Communicator* group_;
  std::optional<RankedSteps> ranked_{};    // of several ranks
  std::optional<SentencesSaved> saved_{};  // of one
  std::vector<std::size_t> order_;         // of the examples in the epoch below
  std::uint64_t epoch_ = 0;
  std::vector<double> losses_;
};

// ---- Steps. ----

// The last batch of an epoch may be smaller.
ClassifierRun::State::Batch ClassifierRun::State::batch_of(std::uint64_t step) {
  const std::uint64_t epoch = step / steps_per_epoch();
  if (epoch != epoch_ || order_.empty()) {
    order_ = epoch_order(settings_.seed, static_cast<std::uint32_t>(epoch),
                         examples_.ids.size());
    epoch_ = epoch;
  }
  const std::size_t first = step % steps_per_epoch() * settings_.batch;
  const std::size_t count = std::min(settings_.batch, order_.size() - first);
  Batch batch;
  for (const std::size_t n : std::span(order_).subspan(first, count)) {
    batch.ids.push_back(examples_.ids[n]);
    batch.targets.push_back(examples_.targets[n]);
  }
  return batch;
}

Status ClassifierRun::State::step(const Executor& executor) {
  if (group_ != nullptr) {
    group_->set_step(kOperation, "step " + std::to_string(losses_.size() + 1));
  }
  const auto loss = train_on(batch_of(losses_.size()), executor);
  if (!loss) {
    if (ranked_ && loss.error().code() != ErrorCode::out_of_memory) {
      // All have this error. None may end the group before each has found it.
      static_cast<void>(group_->barrier());
    }
    return failed_step(losses_.size() + 1, loss.error());
  }
  losses_.push_back(*loss);
  return ranked_ && losses_.size() >= total_steps() ? ranked_->complete()
                                                    : ok();
}

Result<double> ClassifierRun::State::train_on(const Batch& batch,
                                              const Executor& executor) {
  const auto embeddings = forward(batch, executor);
  HEADWISE_TRY(embeddings);
  auto logits = probe_.linear().forward(as_one_batch(*embeddings), "embeddings",
                                        executor);
  HEADWISE_TRY(logits);
  const Tensor<float, 2> rows = std::move(*logits).without_batch();
  const auto loss = cross_entropy(
      rows.view(), TensorView<const std::int64_t, 1>(batch.targets.data(),
                                                     {batch.targets.size()}));
  HEADWISE_TRY(loss);
  if (!std::isfinite(loss->loss)) {
    return Error{ErrorCode::out_of_range,
                 {.given = "the loss is " + number_text(loss->loss)}};
  }
  auto gradients =
      backward(*embeddings, as_one_batch(loss->d_logits), executor);
  HEADWISE_TRY(gradients);
  HEADWISE_TRY(clip(*gradients));
  HEADWISE_TRY(move(*gradients));
  return loss->loss;
}

Result<Tensor<float, 2>> ClassifierRun::State::forward(
    const Batch& batch, const Executor& executor) {
  if (ranked_) {
    return ranked_->forward(batch.ids, executor);
  }
  auto saved =
      encoder_.forward_for_backward(batch.ids, {.executor = &executor});
  HEADWISE_TRY(saved);
  saved_ = *std::move(saved);
  return saved_->embeddings.clone();
}

// Several ranks have those of the encoder in ranked_.
Result<ClassifierRun::State::Gradients> ClassifierRun::State::backward(
    const Tensor<float, 2>& embeddings, TensorView<const float, 3> d_logits,
    const Executor& executor) {
  auto by_classifier = probe_.linear().backward_params(as_one_batch(embeddings),
                                                       d_logits, {}, executor);
  HEADWISE_TRY(by_classifier);
  auto d_embeddings =
      probe_.linear().backward_input(d_logits, "d_logits", executor);
  HEADWISE_TRY(d_embeddings);
  const Tensor<float, 2> rows = std::move(*d_embeddings).without_batch();
  Gradients gradients;
  gradients.emplace(kClassifierWeight, flat(std::move(by_classifier->weight)));
  gradients.emplace(kClassifierBias, std::move(by_classifier->bias));
  // The names of the encoder's parameters come later.
  HEADWISE_TRY(check_finite_gradients(gradients));
  if (ranked_) {
    HEADWISE_TRY(ranked_->backward(rows, executor));
    return gradients;
  }
  auto by_encoder = encoder_.backward(*saved_, rows);
  saved_.reset();
  HEADWISE_TRY(by_encoder);
  HEADWISE_TRY(check_finite_gradients(by_encoder->params));
  gradients.merge(by_encoder->params);
  return gradients;
}

Status ClassifierRun::State::clip(Gradients& gradients) {
  std::vector<std::span<float>> all;
  for (auto& [name, values] : gradients) {
    all.push_back(values.elements());
  }
  if (ranked_) {
    return ranked_->clip(all, kLargestGradient);
  }
  const auto norm = clip_gradient_norm(all, kLargestGradient);
  return norm ? ok() : norm.error();
}

Status ClassifierRun::State::move(const Gradients& gradients) {
  optimizer_.begin_step();
  const auto move_one = [&](std::string_view name,
                            std::span<float> values) -> Status {
    HEADWISE_TRY(optimizer_.update(name, values,
                                   gradients.find(name)->second.elements()));
    return check_finite_values(name, values);
  };
  if (ranked_) {
    const std::uint64_t next = losses_.size() + 1;
    HEADWISE_TRY(ranked_->move(optimizer_, next < total_steps()
                                               ? batch_of(next).ids
                                               : RaggedTokens()));
    return update_classifier(move_one);
  }
  return update(move_one);
}

Status ClassifierRun::State::update(Change change) {
  HEADWISE_TRY(encoder_.encoder().update(change));
  return update_classifier(change);
}

Status ClassifierRun::State::update_classifier(Change change) {
  Status s = ok();
  probe_.linear().update([&](std::span<float> weight, std::span<float> bias) {
    s = change(kClassifierWeight, weight);
    s = s ? change(kClassifierBias, bias) : s;
  });
  return s;
}

// ---- Files. ----

std::map<std::string, AnyView> ClassifierRun::State::params() const {
  std::map<std::string, AnyView> params = encoder_.encoder().params();
  params.emplace(kClassifierWeight, probe_.linear().weight());
  params.emplace(kClassifierBias, probe_.linear().bias());
  return params;
}

ModelConfig ClassifierRun::State::config() const {
  ModelConfig config = config_of(settings_);
  config.emplace(kDataHash, examples_.sha256);
  config.emplace(kModelHash, source_sha256_);
  return config;
}

Status ClassifierRun::State::write_checkpoint_to(const std::string& path) {
  if (ranked_) {
    HEADWISE_TRY(ranked_->complete());
  }
  const auto state = ranked_ ? ranked_->gather(optimizer_) : optimizer_.state();
  HEADWISE_TRY(state);
  if (ranked_ && group_->rank() != 0) {
    return ok();
  }
  return busy_with(group_, [&] {
    return write_checkpoint(path, {.step = losses_.size(),
                                   .seed = settings_.seed,
                                   .config = config(),
                                   .params = params(),
                                   .optimizer = &*state,
                                   .records = {{std::string(kLoss), losses_}}});
  });
}

Status ClassifierRun::State::resume(const Checkpoint& checkpoint,
                                    const std::string& path) {
  if (ranked_) {
    std::string numbers;
    HEADWISE_TRY(group_->busy_with([&] {
      numbers = description(checkpoint);
      return ok();
    }));
    HEADWISE_TRY(group_->check_same("the checkpoint", numbers));
  }
  HEADWISE_TRY(check_hash(checkpoint, path, kDataHash, "other training data",
                          examples_.sha256));
  HEADWISE_TRY(check_hash(checkpoint, path, kModelHash, "another model",
                          source_sha256_));
  ResumedRun run{.config = config(),
                 .params = params(),
                 .seed = settings_.seed,
                 .records = {kLoss}};
  if (const auto* const epochs =
          setting_of<std::int64_t>(checkpoint, kEpochs)) {
    run.config.insert_or_assign(kEpochs, *epochs);
  }
  HEADWISE_TRY(check_resumed(checkpoint, path, run));
  if (checkpoint.step > total_steps()) {
    return Error{
        ErrorCode::invalid_argument,
        ErrorDetails{.operation = std::string(kOperation),
                     .argument = kEpochs,
                     .given = "is " + std::to_string(settings_.epochs) + ": " +
                              std::to_string(total_steps()) + " steps",
                     .expected = "at least the " +
                                 std::to_string(checkpoint.step) + " of " +
                                 path}};
  }
  if (ranked_) {
    const auto own = ranked_->own_part(checkpoint.optimizer);
    HEADWISE_TRY(own);
    HEADWISE_TRY(restore_optimizer(*own, path, optimizer_));
  } else {
    HEADWISE_TRY(restore_optimizer(checkpoint.optimizer, path, optimizer_));
  }
  HEADWISE_TRY(update([&](std::string_view name, std::span<float> values) {
    restore_param(checkpoint, std::string(name), values);
    return ok();
  }));
  losses_ = checkpoint.records.at(std::string(kLoss));
  order_.clear();
  return ok();
}

// ---- The public class. ----

ClassifierRun::ClassifierRun(std::unique_ptr<State> state)
    : state_(std::move(state)) {}
ClassifierRun::ClassifierRun(ClassifierRun&& other) noexcept = default;
ClassifierRun& ClassifierRun::operator=(ClassifierRun&& other) noexcept =
    default;
ClassifierRun::~ClassifierRun() = default;

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
    HEADWISE_TRY(check(settings, examples));
    auto optimizer = Optimizer::create(AdamWConfig{
        .learning_rate = settings.learning_rate, .weight_decay = kWeightDecay});
    HEADWISE_TRY(optimizer);
    return ClassifierRun(std::make_unique<State>(
        settings, std::move(encoder), std::move(probe), std::move(examples),
        std::move(model), *std::move(optimizer), group));
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
