// The table of the tensors of a call (headwise/attention/call_tensors.h): the
// name of each in messages, its axes, its element type and when it may be
// there. All calls, forward and backward, on the CPU and on a GPU, are checked
// against it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "headwise/attention/call_tensors.h"
#include "headwise/attention/spec.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// An extent, by what it counts.
enum class Size : std::uint8_t {
  none,  // of a tensor of lower rank
  sequences,
  batch,  // of the tensors: 1 in a ragged batch
  queries,
  keys,             // of the tensors, here and above
  longest_queries,  // of a sequence
  pair_columns,     // the keys of the longest sequence and the added keys
  query_heads,
  key_heads,
  weight_heads,  // of the returned attention weights: 1 of their mean
  features,
  value_features,
  row_numbers,  // of softmax_rows
  statistics,
  top_keys,
  map_rows,
  map_columns,
  bias_sequences,
  bias_heads,
  bias_queries,
  bias_keys,
  t5_buckets,
};
inline constexpr std::size_t kSizes = 22;

// The element type.
enum class ElementType : std::uint8_t {
  of_call,
  of_sums,  // float32 in 16-bit calls
  float32,
  int64,
};

// Whether a tensor must be there.
enum class Need : std::uint8_t {
  always,     // where the condition holds
  if_wanted,  // no view: an option that is not given, or not wanted
  if_asked,   // exactly when the options ask for it
};

// What the options must have for the tensor to be there.
enum class Condition : std::uint8_t {
  none,
  attn_weights,
  last_keys,  // the call has the last part of the keys, or all
  key_part,   // it has a part of the keys
  query_part,
  scores,
  rows,
  top_keys,
  columns,
  map,
  bias,
  t5_bias,
  alibi,
  score_weight,
  sinks,
  bias_k,
};

// Which parts may have a gradient or its state, beside calls that have all keys
// and queries: sums over what a part does not have cannot be computed in it.
enum class Parts : std::uint8_t {
  any,  // neither: the condition says
  of_keys,
  last_of_keys,
  last_of_queries,
  none,
};

struct CallTensorRow {
  std::string_view name;
  std::string_view axes;
  // In a ragged batch; of the attention weights: of their mean. Empty: the
  // same.
  std::string_view other_axes;
  std::array<Size, 4> sizes;
  ElementType type = ElementType::of_call;
  Need need = Need::always;
  Condition condition = Condition::none;
  Parts parts = Parts::any;
};

const CallTensorRow& row_of(CallTensor tensor);

// Adds those of the options.
void add_option_tensors(const AttentionSpec& spec, CallTensors& tensors);

}  // namespace headwise::inline HEADWISE_ABI
