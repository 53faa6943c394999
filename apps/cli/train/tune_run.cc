#include "tune_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <span>

#include "finite_values.h"
#include "headwise/interop/file_subject.h"
#include "headwise/module/loss.h"
#include "resumed_checkpoint.h"
#include "shell/outcome.h"
#include "shell/sha256.h"
#include "tune_order.h"

namespace headwise::cli {
namespace {

constexpr double kLargestGradient = 1;  // norm of all gradients
constexpr double kWeightDecay = 0.01;
constexpr std::string_view kLoss = "loss";
const std::string kClassifierWeight = "classifier.weight";
const std::string kClassifierBias = "classifier.bias";
const std::string kEpochs = "epochs";
const std::string kDataHash = "data_sha256";
const std::string kModelHash = "model_sha256";

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
  Sha256 hash;
  for (const auto& [name, view] : params) {
    const std::size_t count =
        std::accumulate(view.extents().begin(), view.extents().end(),
                        std::size_t{1}, std::multiplies<>());
    hash.add(std::as_bytes(std::span(name)));
    hash.add(std::as_bytes(
        std::span(static_cast<const float*>(view.data()), count)));
  }
  return hash.digits();
}

Status check_hash(const Checkpoint& checkpoint, const std::string& path,
                  const std::string& name, std::string_view of,
                  const std::string& expected) {
  const auto* const saved = setting_of<std::string>(checkpoint, name);
  if (saved == nullptr || *saved == expected) {
    return ok();
  }
  return FileSubject{"train", path}.bad_data(
      fmt::format("is of a run with another {}: its SHA-256 was {}, and is {}",
                  of, *saved, expected));
}

Status clip(std::map<std::string, Tensor<float, 1>, std::less<>>& gradients) {
  std::vector<std::span<float>> all;
  for (auto& [name, values] : gradients) {
    HEADWISE_TRY(
        check_finite_values("the gradient of " + name, values.elements()));
    all.push_back(values.elements());
  }
  const auto norm = clip_gradient_norm(all, kLargestGradient);
  return norm ? ok() : norm.error();
}

}  // namespace

TuneRun::TuneRun(const TuneSettings& settings, SentenceEncoder encoder,
                 LabelProbe probe, TuneExamples examples, Optimizer optimizer)
    : settings_(settings),
      encoder_(std::move(encoder)),
      probe_(std::move(probe)),
      examples_(std::move(examples)),
      source_sha256_(sha256_of_params(encoder_.encoder().params())),
      optimizer_(std::move(optimizer)) {}

Result<TuneRun> TuneRun::create(const TuneSettings& settings,
                                SentenceEncoder encoder, LabelProbe probe,
                                TuneExamples examples) {
  auto optimizer = Optimizer::create(AdamWConfig{
      .learning_rate = settings.learning_rate, .weight_decay = kWeightDecay});
  HEADWISE_TRY(optimizer);
  return TuneRun(settings, std::move(encoder), std::move(probe),
                 std::move(examples), *std::move(optimizer));
}

// ---- Learning. ----

std::uint64_t TuneRun::steps_an_epoch() const {
  return (examples_.ids.size() - 1) / settings_.batch + 1;
}

// The last batch of an epoch may be smaller.
TuneRun::Batch TuneRun::next_batch() {
  const std::uint64_t within = steps() % steps_an_epoch();
  if (within == 0 || order_.empty()) {
    order_ = epoch_order(settings_.seed,
                         static_cast<std::uint32_t>(steps() / steps_an_epoch()),
                         examples_.ids.size());
  }
  const std::size_t first = within * settings_.batch;
  const std::size_t count = std::min(settings_.batch, order_.size() - first);
  Batch batch;
  for (const std::size_t n : std::span(order_).subspan(first, count)) {
    batch.ids.push_back(examples_.ids[n]);
    batch.targets.push_back(examples_.targets[n]);
  }
  return batch;
}

Status TuneRun::step(const Executor& executor) {
  const auto loss = learn(next_batch(), executor);
  if (!loss) {
    return in_step(loss.error(), steps() + 1);
  }
  losses_.push_back(*loss);
  return ok();
}

Result<double> TuneRun::learn(const Batch& batch, const Executor& executor) {
  auto saved =
      encoder_.forward_for_backward(batch.ids, {.executor = &executor});
  HEADWISE_TRY(saved);
  auto logits = probe_.linear().forward(as_one_batch(saved->embeddings),
                                        "embeddings", executor);
  HEADWISE_TRY(logits);
  const Tensor<float, 2> rows = std::move(*logits).without_batch();
  const auto loss = cross_entropy(
      rows.view(), TensorView<const std::int64_t, 1>(batch.targets.data(),
                                                     {batch.targets.size()}));
  HEADWISE_TRY(loss);
  if (!std::isfinite(loss->loss)) {
    return Error{ErrorCode::out_of_range,
                 {.given = fmt::format("the loss is {}", loss->loss)}};
  }
  auto gradients = gradients_of(*saved, as_one_batch(loss->d_logits), executor);
  HEADWISE_TRY(gradients);
  HEADWISE_TRY(clip(*gradients));
  HEADWISE_TRY(move(*gradients));
  return loss->loss;
}

Result<TuneRun::Gradients> TuneRun::gradients_of(
    SentencesSaved& saved, TensorView<const float, 3> d_logits,
    const Executor& executor) const {
  auto by_classifier = probe_.linear().backward_params(
      as_one_batch(saved.embeddings), d_logits, {}, executor);
  auto d_embeddings =
      probe_.linear().backward_input(d_logits, "d_logits", executor);
  if (!by_classifier || !d_embeddings) {
    return by_classifier ? d_embeddings.error() : by_classifier.error();
  }
  const Tensor<float, 2> rows = std::move(*d_embeddings).without_batch();
  auto by_encoder = encoder_.backward(saved, rows.view());
  HEADWISE_TRY(by_encoder);
  Gradients gradients = std::move(by_encoder->params);
  gradients.emplace(kClassifierWeight, flat(std::move(by_classifier->weight)));
  gradients.emplace(kClassifierBias, std::move(by_classifier->bias));
  return gradients;
}

Status TuneRun::move(const Gradients& gradients) {
  optimizer_.begin_step();
  Status moved = ok();
  update([&](std::string_view name, std::span<float> values) {
    if (moved) {
      moved = optimizer_.update(name, values,
                                gradients.find(name)->second.elements());
    }
    if (moved) {
      moved = check_finite_values(name, values);
    }
  });
  return moved;
}

void TuneRun::update(
    FunctionRef<void(std::string_view, std::span<float>)> change) {
  encoder_.encoder().update(change);
  probe_.linear().update([&](std::span<float> weight, std::span<float> bias) {
    change(kClassifierWeight, weight);
    change(kClassifierBias, bias);
  });
}

std::vector<double> TuneRun::epoch_losses() const {
  std::vector<double> means;
  for (std::size_t first = 0; first < losses_.size();
       first += steps_an_epoch()) {
    const std::size_t count =
        std::min<std::size_t>(steps_an_epoch(), losses_.size() - first);
    const auto epoch = std::span(losses_).subspan(first, count);
    means.push_back(std::accumulate(epoch.begin(), epoch.end(), 0.0) /
                    static_cast<double>(count));
  }
  return means;
}

// ---- Files. ----

std::map<std::string, AnyView> TuneRun::params() const {
  std::map<std::string, AnyView> params = encoder_.encoder().params();
  params.emplace(kClassifierWeight, probe_.linear().weight());
  params.emplace(kClassifierBias, probe_.linear().bias());
  return params;
}

ModelConfig TuneRun::config() const {
  ModelConfig config = config_of(settings_);
  config.emplace(kDataHash, examples_.sha256);
  config.emplace(kModelHash, source_sha256_);
  return config;
}

Status TuneRun::write_checkpoint_to(const std::string& path) const {
  const auto state = optimizer_.state();
  HEADWISE_TRY(state);
  return write_checkpoint(path, {.step = steps(),
                                 .seed = settings_.seed,
                                 .config = config(),
                                 .params = params(),
                                 .optimizer = &*state,
                                 .records = {{std::string(kLoss), losses_}}});
}

Status TuneRun::resume(const Checkpoint& checkpoint, const std::string& path) {
  HEADWISE_TRY(
      check_hash(checkpoint, path, kDataHash, "--data", examples_.sha256));
  HEADWISE_TRY(
      check_hash(checkpoint, path, kModelHash, "--model", source_sha256_));
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
    return option_error(
        "--epochs",
        fmt::format("{} is {} steps", settings_.epochs, total_steps()),
        fmt::format("at least the {} that {} has", checkpoint.step, path));
  }
  if (Status s = optimizer_.set_state(checkpoint.optimizer); !s) {
    return s.error();
  }
  update([&](std::string_view name, std::span<float> values) {
    restore_param(checkpoint, std::string(name), values);
  });
  losses_ = checkpoint.records.at(std::string(kLoss));
  order_.clear();
  return ok();
}

}  // namespace headwise::cli
