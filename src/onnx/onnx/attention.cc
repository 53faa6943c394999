// Attention: float32 by headwise's own attention(); other types step by step,
// because the standard rounds after each step (attention_steps.h).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "headwise/attention/forward.h"
#include "onnx/attend.h"
#include "onnx/attention_call.h"
#include "onnx/attention_mask.h"
#include "onnx/attention_options.h"
#include "onnx/attention_steps.h"
#include "onnx/attention_views.h"
#include "onnx/broadcast.h"
#include "onnx/operators.h"
#include "onnx/seen_attention.h"
#include "onnx/strided.h"
#include "onnx/tensor_data.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using OnnxIn = AttentionInput;

// (B, Hkv, Lkv, D): the past, then the new keys or values.
Result<Array> present_of(const NodeCall& node, std::size_t input,
                         std::size_t past_input, const AttentionSizes& sizes,
                         std::size_t width) {
  const Array& given = node.in(input);
  HEADWISE_ASSIGN(
      auto present,
      array_of({sizes.B, sizes.Hkv, sizes.Lkv(), width}, given.dtype));
  const std::size_t row = width * size_of(given.dtype);
  const std::byte* past =
      node.has(past_input) ? node.in(past_input).data.data() : nullptr;
  std::byte* out = present.data.data();
  for (std::size_t b = 0; b < sizes.B; ++b) {
    for (std::size_t h = 0; h < sizes.Hkv; ++h) {
      for (std::size_t j = 0; j < sizes.Lkv() && row > 0; ++j, out += row) {
        const std::size_t head = b * sizes.Hkv + h;
        const std::size_t n = j - sizes.past_keys;
        const std::byte* from =
            j < sizes.past_keys ? past + (head * sizes.past_keys + j) * row
            : sizes.heads_merged
                ? given.data.data() +
                      ((b * sizes.new_keys + n) * sizes.Hkv + h) * row
                : given.data.data() + (head * sizes.new_keys + n) * row;
        std::memcpy(out, from, row);
      }
    }
  }
  return present;
}

// Scores behind the bias, as if it had not been clamped. -inf stays.
void add_what_was_clamped(const OnnxAttentionMask& mask, Array& scores) {
  const auto strides = broadcast_strides(mask.extents, scores.shape);
  float* score = floats(scores);
  for (Odometer at(scores.shape); !at.done(); at.next(), ++score) {
    const double number = (*mask.numbers)[at.offset(strides)];
    if (number < kLowestBias && std::isfinite(clamped_bias(number))) {
      *score = static_cast<float>(*score + (number - kLowestBias));
    }
  }
}

Status attend_in_float(const NodeCall& node, const ReadyAttention& ready,
                       Array& output, Array* scores) {
  const OnnxAttentionCall& call = ready.call;
  const std::optional<OnnxAttentionMask>& mask = ready.mask;
  const AttentionSizes& sizes = call.sizes;
  const OnnxAttentionOptions held(call, mask);
  AttentionOptions options = held.options();
  options.executor = node.executor();
  AttentionOutputs outputs{.output =
                               query_view(floats(output), sizes, sizes.Dv)};
  if (scores != nullptr) {
    options.scores = call.qk_output;
    outputs.scores = TensorView<float, 4>(
        floats(*scores), Extents<4>{sizes.B, sizes.Hq, sizes.Lq, sizes.Lkv()});
  }
  if (const Status s = attention(
          query_view(floats(*ready.query), sizes, sizes.D),
          key_view(*ready.key), key_view(*ready.value), outputs, options);
      !s) {
    return node.subject().blame(s.error());
  }
  if (scores != nullptr && call.qk_output == ScoresStage::bias && mask &&
      mask->numbers) {
    add_what_was_clamped(*mask, *scores);
  }
  return ok();
}

}  // namespace

Result<OnnxAttended> attend(const NodeCall& node, const ReadyAttention& ready,
                            bool wants_scores) {
  const OnnxAttentionCall& call = ready.call;
  const AttentionSizes& sizes = call.sizes;
  if (node.seen() != nullptr) {
    HEADWISE_ASSIGN(auto seen, seen_attention(call, ready.mask, *ready.query,
                                              *ready.key, *ready.value));
    *node.seen() = std::move(seen);
  }
  HEADWISE_ASSIGN(
      auto output,
      array_of(sizes.heads_merged
                   ? std::vector{sizes.B, sizes.Lq, sizes.Hq * sizes.Dv}
                   : std::vector{sizes.B, sizes.Hq, sizes.Lq, sizes.Dv},
               call.type));
  OnnxAttended made{.output = std::move(output), .scores = {}};
  if (wants_scores) {
    HEADWISE_ASSIGN(
        auto scores,
        array_of({sizes.B, sizes.Hq, sizes.Lq, sizes.Lkv()}, call.type));
    made.scores = std::move(scores);
  }
  Array* scores = wants_scores ? &made.scores : nullptr;
  const bool in_float = call.type == DType::float32 &&
                        ready.value->dtype == DType::float32 &&
                        (call.softmax_type == DType::float32 ||
                         call.softmax_type == DType::float64) &&
                        // attention() has heads of at least one number.
                        sizes.Hq > 0 && sizes.D > 0 && sizes.Dv > 0;
  // Without features of V nothing is computed, however many rows Q and K have.
  const bool asked = !made.output.data.empty() || wants_scores;
  if (asked && in_float) {
    HEADWISE_TRY(attend_in_float(node, ready, made.output, scores));
  } else if (asked) {
    attend_in_steps(call, ready.mask, *ready.query, *ready.key, *ready.value,
                    made.output, scores);
  }
  return made;
}

Result<Outputs> run_attention(const NodeCall& node) {
  HEADWISE_ASSIGN(auto call, OnnxAttentionCall::create(node));
  const AttentionSizes& sizes = call.sizes;
  HEADWISE_ASSIGN(auto mask, OnnxAttentionMask::create(node, sizes));
  HEADWISE_ASSIGN(auto key, present_of(node, OnnxIn::key, OnnxIn::past_key,
                                       sizes, sizes.D));
  HEADWISE_ASSIGN(auto value, present_of(node, OnnxIn::value,
                                         OnnxIn::past_value, sizes, sizes.Dv));
  HEADWISE_ASSIGN(auto made, attend(node,
                                    {.call = std::move(call),
                                     .mask = std::move(mask),
                                     .query = &node.in(OnnxIn::query),
                                     .key = &key,
                                     .value = &value},
                                    node.wants(3)));
  Outputs outputs;
  outputs.push_back(std::move(made.output));
  outputs.push_back(std::move(key));
  outputs.push_back(std::move(value));
  outputs.push_back(std::move(made.scores));
  return outputs;
}

}  // namespace headwise::inline HEADWISE_ABI
