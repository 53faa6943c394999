#include "train/classifier_state.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "distribute/or_tell.h"
#include "headwise/module/optimizer.h"
#include "train/epoch_order.h"
#include "train/failed_step.h"
#include "train/finite_values.h"
#include "train/resumed_checkpoint.h"
#include "train/same_run.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kClassifierState = "train";
constexpr double kClassifierLargestGradient = 1;  // norm of all gradients

template <std::size_t Rank>
Tensor<float, 1> flat(Tensor<float, Rank> x) {
  const std::size_t size = x.size();
  return std::move(x).template with_extents<1>({size});
}

Status check_finite_gradients(
    const std::map<std::string, Tensor<float, 1>, std::less<>>& gradients) {
  for (const auto& [name, values] : gradients) {
    HEADWISE_TRY(
        check_finite_values("the gradient of " + name, values.elements()));
  }
  return ok();
}

}  // namespace

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
    group_->set_step(kClassifierState, message("step {}", losses_.size() + 1));
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
  HEADWISE_ASSIGN(const auto embeddings, forward(batch, executor));
  HEADWISE_ASSIGN(auto logits,
                  probe_.linear().forward(as_batch_of_one(embeddings),
                                          "embeddings", executor));
  const Tensor<float, 2> rows = std::move(logits).without_batch();
  HEADWISE_ASSIGN(const auto loss,
                  cross_entropy(rows.view(), TensorView<const std::int64_t, 1>(
                                                 batch.targets.data(),
                                                 {batch.targets.size()})));
  if (!std::isfinite(loss.loss)) {
    return Error{ErrorCode::out_of_range,
                 {.given = message("the loss is {}", number_text(loss.loss))}};
  }
  HEADWISE_ASSIGN(
      auto gradients,
      backward(embeddings, as_batch_of_one(loss.d_logits), executor));
  HEADWISE_TRY(clip(gradients));
  HEADWISE_TRY(move(gradients));
  return loss.loss;
}

Result<Tensor<float, 2>> ClassifierRun::State::forward(
    const Batch& batch, const Executor& executor) {
  if (ranked_) {
    return ranked_->forward(batch.ids, executor);
  }
  HEADWISE_ASSIGN(saved_, encoder_.forward_for_backward(
                              batch.ids, {.executor = &executor}));
  return saved_->embeddings.clone();
}

// Several ranks have those of the encoder in ranked_.
Result<ClassifierRun::State::Gradients> ClassifierRun::State::backward(
    const Tensor<float, 2>& embeddings, TensorView<const float, 3> d_logits,
    const Executor& executor) {
  HEADWISE_ASSIGN(auto by_classifier,
                  probe_.linear().backward_params(as_batch_of_one(embeddings),
                                                  d_logits, {}, executor));
  HEADWISE_ASSIGN(auto d_embeddings, probe_.linear().backward_input(
                                         d_logits, "d_logits", executor));
  const Tensor<float, 2> rows = std::move(d_embeddings).without_batch();
  Gradients gradients;
  gradients.emplace(kClassifierWeight, flat(std::move(by_classifier.weight)));
  gradients.emplace(kClassifierBias, std::move(by_classifier.bias));
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
    return ranked_->clip(all, kClassifierLargestGradient);
  }
  const auto norm = clip_gradient_norm(all, kClassifierLargestGradient);
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

ClassifierOrigin ClassifierRun::State::origin() const {
  return {.settings = settings_,
          .data_sha256 = examples_.sha256,
          .model_sha256 = source_sha256_,
          .total_steps = total_steps()};
}

// Without the optimiser.
CheckpointView ClassifierRun::State::saved() const {
  CheckpointView run{.step = losses_.size(),
                     .seed = settings_.seed,
                     .config = config_of(origin()),
                     .params = encoder_.encoder().params(),
                     .records = {{std::string(kLossRecord), losses_}}};
  run.params.emplace(kClassifierWeight, probe_.linear().weight());
  run.params.emplace(kClassifierBias, probe_.linear().bias());
  return run;
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
  return busy_with(group_, [&] { return write_run(path, saved(), state); });
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
  HEADWISE_TRY(check_checkpoint(checkpoint, path, origin(), saved()));
  if (ranked_) {
    HEADWISE_ASSIGN(const auto own, ranked_->own_part(checkpoint.optimizer));
    HEADWISE_TRY(restore_optimizer(own, path, optimizer_));
  } else {
    HEADWISE_TRY(restore_optimizer(checkpoint.optimizer, path, optimizer_));
  }
  HEADWISE_TRY(update([&](std::string_view name, std::span<float> values) {
    restore_param(checkpoint, std::string(name), values);
    return ok();
  }));
  if (ranked_) {
    ranked_->set_complete();
  }
  losses_ = checkpoint.records.at(std::string(kLossRecord));
  order_.clear();
  return ok();
}

}  // namespace headwise::inline HEADWISE_ABI
