#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "heads/finite_outputs.h"
#include "headwise/heads/attribution_target.h"
#include "headwise/models/label_probe.h"
#include "headwise/models/text_model.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kTokenTarget = "token_target";

Status check_position(const std::vector<TokenId>& text, std::size_t position) {
  HEADWISE_TRY(check_at_least_one(kTokenTarget, "text", text.size()));
  if (position >= text.size()) {
    return value_error(kTokenTarget, "position", std::to_string(position),
                       message("less than {}", text.size()),
                       ErrorCode::out_of_range);
  }
  return ok();
}

// (1, vocab_size): of the token after `position`.
Result<Tensor<float, 2>> logits_at(const LanguageModel& model,
                                   const std::vector<TokenId>& text,
                                   std::size_t position, HeadGateSpan gates,
                                   const Executor& executor) {
  HEADWISE_TRY(check_position(text, position));
  HEADWISE_ASSIGN(
      const auto hidden,
      model.hidden({text}, {.head_gates = gates, .executor = &executor}));
  return model.unembed({&hidden(position, 0), {1, hidden.extent(1)}},
                       &executor);
}

}  // namespace

Result<TokenTarget> TokenTarget::create(const LanguageModel& model,
                                        const std::vector<TokenId>& text,
                                        const TokenTargetOptions& options,
                                        const Executor& executor) {
  return catching_out_of_memory([&]() -> Result<TokenTarget> {
    HEADWISE_TRY(check_at_least_one(kTokenTarget, "text", text.size()));
    const std::size_t position = options.position.value_or(text.size() - 1);
    HEADWISE_TRY(check_position(text, position));
    if (options.token) {
      const auto tokens = static_cast<TokenId>(model.shape().vocab_size);
      if (*options.token < 0 || *options.token >= tokens) {
        return value_error(
            kTokenTarget, "token", std::to_string(*options.token),
            message("0 to {}", tokens - 1), ErrorCode::out_of_range);
      }
      return TokenTarget(model, position, *options.token);
    }
    HEADWISE_ASSIGN(const auto logits,
                    logits_at(model, text, position, {}, executor));
    HEADWISE_TRY(check_finite_outputs(kTokenTarget, "model", logits.elements(),
                                      ErrorCode::bad_data));
    return TokenTarget(model, position,
                       static_cast<TokenId>(predicted_label(logits, 0)));
  });
}

std::vector<std::vector<std::size_t>> TokenTarget::all_heads() const {
  return heads_left(*model_);
}

const MultiHeadAttention& TokenTarget::attention(std::size_t layer) const {
  return model_->attention(layer);
}

Result<double> TokenTarget::compute(const std::vector<TokenId>& text,
                                    HeadGateSpan gates,
                                    const Executor& executor) const {
  return catching_out_of_memory([&]() -> Result<double> {
    HEADWISE_ASSIGN(const auto logits,
                    logits_at(*model_, text, position_, gates, executor));
    return static_cast<double>(logits(0, static_cast<std::size_t>(token_)));
  });
}

Result<std::vector<Tensor<float, 2>>> TokenTarget::compute_gradients(
    const std::vector<TokenId>& text, HeadGateSpan gates,
    const ModelHooks& hooks, const Executor& executor) const {
  return catching_out_of_memory([&]() -> Result<std::vector<Tensor<float, 2>>> {
    HEADWISE_TRY(check_position(text, position_));
    const auto d_logits =
        [&](TensorView<const float, 2> logits) -> Result<Tensor<float, 2>> {
      HEADWISE_ASSIGN(auto d, Tensor<float, 2>::create(logits.extents()));
      d(position_, static_cast<std::size_t>(token_)) = 1;
      return d;
    };
    HEADWISE_ASSIGN(
        auto gradients,
        model_->gate_gradients(
            {text},
            {.head_gates = gates, .hooks = hooks, .executor = &executor},
            d_logits));
    return std::move(gradients.head_gates);
  });
}

}  // namespace headwise::inline HEADWISE_ABI
