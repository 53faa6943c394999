#include "onnx/seen_attention.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "onnx/attention_views.h"
#include "onnx/numbers.h"
#include "onnx/tensor_data.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Result<Array> in_float32(const Array& array) {
  return array.dtype == DType::float32
             ? copy_of(array, array.shape)
             : array_from(doubles_of(array), array.shape, DType::float32);
}

// The lowest numbers, which exporters write for -inf, forbid a key as -inf does
// if each row also has a 0 and nothing else is masked: their weights are 0.
// The page can then show the keys as masked.
bool only_fills(const OnnxAttentionCall& call, const OnnxAttentionMask& mask) {
  constexpr double kFill = -1e38;
  const bool alone = !call.causal && !call.left_window && !call.right_window &&
                     call.key_lengths.empty();
  if (!alone || !mask.numbers || mask.extents[3] == 0) {
    return false;
  }
  bool row_has_key = false;
  for (std::size_t n = 0; n < mask.numbers->size(); ++n) {
    const double number = (*mask.numbers)[n];
    row_has_key = row_has_key || number == 0;
    if (number != 0 && !(number < kFill)) {
      return false;
    }
    if ((n + 1) % mask.extents[3] == 0 && !std::exchange(row_has_key, false)) {
      return false;
    }
  }
  return true;
}

OnnxAttentionMask with_fills_as_masks(const OnnxAttentionMask& mask) {
  OnnxAttentionMask made{
      .extents = mask.extents, .numbers = {}, .booleans = {}};
  made.booleans.emplace(mask.numbers->size());
  std::ranges::transform(
      *mask.numbers, made.booleans->begin(),
      [](double number) -> std::uint8_t { return number == 0 ? 1 : 0; });
  return made;
}

}  // namespace

Result<SeenAttention> seen_attention(
    const OnnxAttentionCall& call, const std::optional<OnnxAttentionMask>& mask,
    const Array& query, const Array& key, const Array& value) {
  HEADWISE_ASSIGN(auto own_query, in_float32(query));
  HEADWISE_ASSIGN(auto own_key, in_float32(key));
  HEADWISE_ASSIGN(auto own_value, in_float32(value));
  std::optional<OnnxAttentionMask> booleans;
  if (mask && only_fills(call, *mask)) {
    booleans = with_fills_as_masks(*mask);
  }
  OnnxAttentionOptions options(call, booleans ? booleans : mask);
  return std::make_unique<OnnxAttention::Parts>(
      OnnxAttention::Parts{call.sizes, std::move(options), std::move(own_query),
                           std::move(own_key), std::move(own_value)});
}

TensorView<const float, 4> OnnxAttention::query() const {
  return query_view(floats(std::as_const(parts_->query)), parts_->sizes,
                    parts_->sizes.D);
}
TensorView<const float, 4> OnnxAttention::key() const {
  return key_view(parts_->key);
}
TensorView<const float, 4> OnnxAttention::value() const {
  return key_view(parts_->value);
}

AttentionOptions OnnxAttention::options() const {
  return parts_->options.options();
}

bool OnnxAttention::same_options(const OnnxAttention& other) const {
  return parts_->options.equals(other.parts_->options);
}

bool OnnxAttention::relates_positions() const {
  return parts_->options.relates_positions();
}

}  // namespace headwise::inline HEADWISE_ABI
