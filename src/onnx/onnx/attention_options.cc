#include "onnx/attention_options.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "headwise/base/tensor_view.h"
#include "headwise/steps/bias.h"
#include "headwise/steps/mask.h"
#include "onnx/node_memory.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// Numbers that only forbid keys: 0 and -inf.
bool only_forbids(const std::vector<double>& numbers) {
  return std::ranges::all_of(numbers, [](double number) {
    return number == 0 || number == -std::numeric_limits<double>::infinity();
  });
}

}  // namespace

float clamped_bias(double number) {
  const auto bias = static_cast<float>(number);
  return std::isfinite(bias) ? std::max(bias, kLowestBias) : bias;
}

OnnxAttentionOptions::OnnxAttentionOptions(
    const OnnxAttentionCall& call, const std::optional<OnnxAttentionMask>& mask)
    : call_(call) {
  if (!mask) {
    return;
  }
  axes_ = mask->axes();
  if (mask->numbers && !only_forbids(*mask->numbers)) {
    NodeMemory::use(mask->numbers->size() * sizeof(float));
    bias_.resize(mask->numbers->size());
    std::ranges::transform(*mask->numbers, bias_.begin(), clamped_bias);
    return;
  }
  boolean_count_ =
      mask->numbers ? mask->numbers->size() : mask->booleans->size();
  NodeMemory::use(boolean_count_);
  booleans_ = std::make_unique<bool[]>(boolean_count_);
  for (std::size_t n = 0; n < boolean_count_; ++n) {
    booleans_[n] =
        mask->numbers ? (*mask->numbers)[n] == 0 : (*mask->booleans)[n] != 0;
  }
}

AttentionOptions OnnxAttentionOptions::options() const {
  AttentionOptions options{.scale = call_.scale,
                           .softcap = call_.softcap,
                           .query_start = call_.query_starts,
                           .empty_rows = call_.empty_rows};
  if (!call_.sinks.empty()) {
    options.sinks = TensorView<const float, 1>(call_.sinks);
  }
  if (call_.causal) {
    options.mask = options.mask & causal();
  }
  if (call_.left_window || call_.right_window) {
    options.mask = options.mask & window(call_.left_window, call_.right_window);
  }
  if (!call_.key_lengths.empty()) {
    options.mask =
        options.mask &
        key_lengths(TensorView<const std::int64_t, 1>(call_.key_lengths));
  }
  if (booleans_) {
    options.mask = options.mask & dense(booleans_.get(), axes_);
  } else if (!bias_.empty()) {
    options.bias = dense(bias_.data(), axes_);
  }
  return options;
}

bool OnnxAttentionOptions::equals(const OnnxAttentionOptions& other) const {
  const OnnxAttentionCall& theirs = other.call_;
  return call_.scale == theirs.scale && call_.softcap == theirs.softcap &&
         call_.causal == theirs.causal &&
         call_.left_window == theirs.left_window &&
         call_.right_window == theirs.right_window &&
         call_.key_lengths == theirs.key_lengths &&
         call_.query_starts == theirs.query_starts &&
         call_.sinks == theirs.sinks && call_.empty_rows == theirs.empty_rows &&
         std::ranges::equal(axes_.extents(), other.axes_.extents()) &&
         std::equal(booleans_.get(), booleans_.get() + boolean_count_,
                    other.booleans_.get(),
                    other.booleans_.get() + other.boolean_count_) &&
         bias_ == other.bias_;
}

bool OnnxAttentionOptions::relates_positions() const {
  return call_.causal || call_.left_window || call_.right_window ||
         !call_.key_lengths.empty() || call_.sizes.past_keys > 0;
}

}  // namespace headwise::inline HEADWISE_ABI
