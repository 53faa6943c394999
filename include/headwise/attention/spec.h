// What a call of attention is asked to do. Checked once, before any output is
// written; every message names the argument, what was given and what was
// expected.
#pragma once

#include <optional>
#include <string_view>

#include "headwise/attention/call_tensors.h"
#include "headwise/attention/gradient_state.h"
#include "headwise/attention/state.h"
#include "headwise/attention/statistics_options.h"
#include "headwise/attention/tensors.h"
#include "headwise/base/arithmetic.h"
#include "headwise/base/result.h"
#include "headwise/base/tensor_view.h"
#include "headwise/run/device_buffer.h"
#include "headwise/run/executor.h"
#include "headwise/run/reports.h"
#include "headwise/steps/added_keys.h"
#include "headwise/steps/alibi.h"
#include "headwise/steps/bias.h"
#include "headwise/steps/dropout.h"
#include "headwise/steps/head_groups.h"
#include "headwise/steps/mask.h"
#include "headwise/steps/query_start.h"
#include "headwise/steps/shape.h"
#include "headwise/steps/sinks.h"
#include "headwise/steps/softmax.h"
#include "headwise/steps/t5_bias.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

// Which attention weights are returned.
enum class AttnWeights {
  none,
  per_head,       // (B, Hq, Lq, Lkv), before dropout
  mean,           // (B, 1, Lq, Lkv), their mean over the heads
  after_dropout,  // (B, Hq, Lq, Lkv), as they weigh the values
};

// At which stage scores are returned, (B, Hq, Lq, Lkv). They are in natural
// units, as if the softmax took powers of e.
enum class ScoresStage {
  none,
  raw,      // scale * q.k, or those of additive scoring
  softcap,  // then capped, if there is a softcap
  bias,     // then with biases and ALiBi, -inf where masked
  softmax,  // the attention weights per head, before dropout
};

// The options that the operation and the layer both take. A misspelled option
// in plain braces makes the compiler list every overload; with the name of the
// type, AttentionOptions{.mask = causal()}, it names the option in one line.
//
// Example:
//   attention(q, k, v, out, {.mask = causal(), .scale = 0.125});
struct AttentionOptions {
  Mask mask{};                    // who may attend to whom; default: all
  std::optional<double> scale{};  // factor on q.k; default 1/sqrt(D)
  // The scores become softcap * tanh(scores / softcap); from 1e-37 to 2e38.
  std::optional<double> softcap{};
  Bias bias{};  // then added to the scores; -inf masks
  // Then a number per head and bucket of relative positions. Its own scale is
  // 1: also set .scale = 1.
  T5Bias t5_bias{};
  // Then the scores lose alibi[h] * |i + query_start - j|: one slope a query
  // head, (Hq), such as alibi_slopes(Hq). The view must outlive the call.
  TensorView<const float, 1> alibi{};
  // One more score per query head, (Hq), that joins the softmax and has no
  // value (steps/sinks.h); -inf: none. A fully masked row then gives 0,
  // whatever empty_rows says. The view must outlive the call.
  TensorView<const float, 1> sinks{};
  QueryStart query_start{};  // position of query 0 among the keys
  Offsets offsets{};         // of a ragged batch: (1, rows, H, D) tensors
  EmptyRow empty_rows = EmptyRow::zero;
  Dropout dropout{};
  AttnWeights attn_weights = AttnWeights::none;  // mean: without statistics
  // raw and softcap come before the mask, so masked keys are read for them. The
  // backward pass takes no gradient of the returned scores.
  ScoresStage scores = ScoresStage::none;
  // bf16: query, key, attention weights and value are multiplied in bfloat16,
  // and so are the gradients; additive scores are float32. Not on a GPU.
  Arithmetic arithmetic = Arithmetic::exact;
  const Executor* executor = nullptr;  // null: Executor::default_executor()
};

// The options that only the operation takes. The layer has a w_score,
// kv_group_sizes and added keys of its own.
//
// Example:
//   attention(q, k, v, out, {.mask = causal()}, {.kv_groups = groups});
struct OperationOptions {
  // Given, (Hq, D): additive scoring, the scores are no longer scale * q.k but
  // sum_d score_weight[h,d] * tanh(query[i,d] + key[j,d]). There is no scale
  // then. The view must outlive the call. Source: Bahdanau, Cho & Bengio 2015,
  // arXiv:1409.0473, section A.1.2.
  TensorView<const float, 2> score_weight{};
  HeadGroups kv_groups{};  // which query heads read which head of keys
  StatisticsOptions statistics{};
  // One key and value more per key head, and one of zeros, which every query
  // attends to (steps/added_keys.h).
  AddedKeys added_keys{};
  // The call has a part of the keys, and its outputs or gradients a state
  // (attention/state.h, attention/gradient_state.h).
  KeyPart key_part = KeyPart::all;
  // A backward call has a part of the queries, and its gradients a state.
  QueryPart query_part = QueryPart::all;
  // cuda: for the calls of attention/device_attention.h.
  Device device{};
};

// Options that were checked against the sizes of a call.
struct AttentionSpec {
  AttentionShape shape;
  double scale = 1;
  TensorView<const float, 2> score_weight;  // no view: dot products
  std::optional<double> softcap;
  BoundBias bias;
  BoundT5Bias t5_bias;
  BoundAlibi alibi;
  BoundAddedKeys added_keys;
  BoundSinks sinks;
  BoundMask mask;  // knows the bias, too
  BoundDropout dropout;
  EmptyRow empty_rows = EmptyRow::zero;
  AttnWeights attn_weights = AttnWeights::none;
  ScoresStage scores = ScoresStage::none;
  BoundStatistics statistics;
  const Executor* executor = nullptr;
  KeyPart key_part = KeyPart::all;
  QueryPart query_part = QueryPart::all;
  Arithmetic arithmetic = Arithmetic::exact;

  bool additive() const { return score_weight.data() != nullptr; }
  // Of returned attention weights and scores: the keys, then the added ones.
  std::size_t pair_columns() const { return shape.Lkv + added_keys.count(); }

  // `tensors` has the sizes of the tensors; with offsets, B, Lq and Lkv of the
  // spec's shape are those of the sequences. `operation` begins the messages.
  // Errors: those of Offsets::check, HeadGroups::check and QueryStart::check,
  // and what bind() of each option names (steps/mask.h, steps/bias.h,
  // attention/statistics_options.h etc.); invalid_argument for a scale
  // or a softcap out of its range, a scale combined with a score_weight, a head
  // size of 0, or without kv_groups query heads that are not a multiple of the
  // key heads, and for a part of the keys that does not end at a multiple of
  // 128; shape_mismatch for a score_weight that does not fit; unsupported for
  // what needs all keys or queries in a part of them (attention/state.h,
  // attention/gradient_state.h).
  static Result<AttentionSpec> create(
      const AttentionShape& tensors, const AttentionOptions& options,
      const OperationOptions& operation_options = {},
      std::string_view operation = "attention");

  // Whether the keys may come in parts (attention/state.h): the mean of all
  // values, and blocks that do not begin at multiples of their size, need all
  // keys at once. Errors: unsupported, invalid_argument.
  Status check_keys_in_parts(std::string_view operation) const;

  // The same call with other sequences, of a ragged batch: as many, and none
  // longer than Lq and Lkv. Allocates nothing. Errors: invalid_argument for a
  // batch that is not ragged; shape_mismatch, out_of_range; the spec is then
  // as before.
  HEADWISE_HIDDEN Status set_offsets(const Offsets& offsets);
};

// The sizes of a call from its tensors. Errors: shape_mismatch.
//   query (B, Lq, Hq, D)   key (B, Lkv, Hkv, D)   value (B, Lkv, Hkv, Dv)
Result<AttentionShape> attention_shape(const Extents<4>& query,
                                       const Extents<4>& key,
                                       const Extents<4>& value);

// The element type and the extents that a tensor of a call must have, without
// data; no axes: the options do not ask for it, or it is the gradient of an
// option that is not there. `number`: the type of the query.
TensorArg expected_tensor(const AttentionSpec& spec, CallTensor tensor,
                          DType number = DType::float32);

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
