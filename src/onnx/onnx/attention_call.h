// A node of ONNX's Attention, opset 23 and later: its sizes, its attributes and
// its inputs, checked.
//
//   inputs   Q, K, V, attn_mask, past_key, past_value, nonpad_kv_seqlen (24+)
//   outputs  Y, present_key, present_value, qk_matmul_output
//
// Q, K and V have the axes (B, H, L, D), or (B, L, H * D) with the numbers of
// heads in attributes. Caches always have four axes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "headwise/attention/spec.h"
#include "headwise/base/dtype.h"
#include "headwise/base/result.h"
#include "headwise/steps/softmax.h"
#include "onnx/node_call.h"

namespace headwise::inline HEADWISE_ABI {

// The numbers of the inputs.
struct AttentionInput {
  static constexpr std::size_t query = 0;
  static constexpr std::size_t key = 1;
  static constexpr std::size_t value = 2;
  static constexpr std::size_t mask = 3;
  static constexpr std::size_t past_key = 4;
  static constexpr std::size_t past_value = 5;
  static constexpr std::size_t lengths = 6;
};

struct AttentionSizes {
  std::size_t B = 0;
  std::size_t Hq = 0;
  std::size_t Hkv = 0;
  std::size_t Lq = 0;
  std::size_t new_keys = 0;
  std::size_t past_keys = 0;
  std::size_t D = 0;
  std::size_t Dv = 0;
  bool heads_merged = false;  // Q, K and V have three axes

  std::size_t Lkv() const { return past_keys + new_keys; }
};

struct OnnxAttentionCall {
  AttentionSizes sizes;
  double scale = 1;  // factor on q.k
  std::optional<double> softcap;
  bool causal = false;
  std::optional<std::int64_t> left_window;
  std::optional<std::int64_t> right_window;
  ScoresStage qk_output = ScoresStage::raw;  // of qk_matmul_output
  DType type = DType::float32;               // of Q, K and Y
  // Of the softmax: `type` unless softmax_precision says another.
  DType softmax_type = DType::float32;
  // Per sequence: how many keys it has (empty: all), and the position of its
  // first query.
  std::vector<std::int64_t> key_lengths;
  std::vector<std::int64_t> query_starts;
  // Not in the standard: one more score per query head, empty for none, and
  // what a row without a key gives.
  std::vector<float> sinks;
  EmptyRow empty_rows = EmptyRow::zero;

  static Result<OnnxAttentionCall> create(const NodeCall& node);
};

// Reads sizes.past_keys from the inputs of a past (B, Hkv, past_keys, D or Dv),
// which are given together or not at all.
Status read_past(const NodeCall& node, std::size_t past_key,
                 std::size_t past_value, AttentionSizes& sizes);

}  // namespace headwise::inline HEADWISE_ABI
