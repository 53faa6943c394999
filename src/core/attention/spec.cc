#include "headwise/attention/spec.h"

#include <cmath>
#include <string>
#include <utility>

#include "attention/check_call.h"
#include "attention/check_parts.h"
#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/steps/scores.h"
#include "kernels/narrow.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

// (B, H, L, D) data has lengths where headwise looks for heads.
Error with_layout_hint(const Error& error) {
  ErrorDetails details = error.details();
  details.hint =
      "axes are (B, L, H, D), so transpose data in the order (B, H, L, D)";
  return {error.code(), std::move(details)};
}

// Whether the heads would fit if axes 1 and 2 were swapped, in all tensors or
// only in key and value.
bool fits_heads_first(const AttentionShape& shape) {
  return shape.Lkv != 0 && shape.Lq != 0 &&
         (shape.Lq % shape.Lkv == 0 || shape.Hq % shape.Lkv == 0);
}

Error value_shape_error(const Extents<4>& key, const Extents<4>& value) {
  const auto [B, Lkv, Hkv, D] = key;
  const Error error =
      shape_error("attention", "value", value, "(B, Lkv, Hkv, Dv)",
                  {{B, Lkv, Hkv, value[3]}});
  return value == Extents<4>{B, Hkv, Lkv, value[3]} ? with_layout_hint(error)
                                                    : error;
}

// A call for statistics may have no values.
Status check_heads(const AttentionShape& shape,
                   const StatisticsOptions& statistics,
                   std::string_view operation) {
  const bool no_values = shape.Dv == 0 && !statistics.any();
  if (shape.D == 0 || no_values || shape.Hkv == 0) {
    return argument_error(operation,
                          no_values && shape.D != 0 ? "value" : "key",
                          shape.D == 0 ? "has head size D = 0"
                          : no_values  ? "has head size Dv = 0"
                                       : "has 0 heads",
                          "at least 1");
  }
  if (!shape.kv_groups.even()) {
    return shape.kv_groups.check(shape.Hq, shape.Hkv, operation);
  }
  if (shape.Hq % shape.Hkv != 0 || shape.Hq == 0) {
    const Error error =
        argument_error(operation, "query", message("has {} heads", shape.Hq),
                       message("a multiple of the {} heads of key", shape.Hkv));
    return shape.Hq != 0 && fits_heads_first(shape) ? with_layout_hint(error)
                                                    : error;
  }
  return ok();
}

// The sizes of a ragged batch's sequences, of tensors of `shape`.
Result<AttentionShape> ragged_shape(const AttentionShape& shape,
                                    const Offsets& offsets,
                                    std::string_view operation) {
  if (shape.B != 1) {
    return argument_error(
        operation, "query",
        message("has a batch axis of {} in a ragged batch", shape.B), "1");
  }
  HEADWISE_TRY(offsets.check(shape.Lq, shape.Lkv, operation));
  AttentionShape ragged = shape;
  ragged.B = offsets.sequences();
  ragged.Lq = longest(offsets.query);
  ragged.Lkv = longest(offsets.key);
  ragged.offsets = offsets;
  return ragged;
}

// Times log2 e they are float32 numbers, and softcap's is not 0.
Status check_factors(const AttentionOptions& options,
                     std::string_view operation) {
  constexpr double kLargest = 2e38;
  constexpr double kSmallestSoftcap = 1e-37;
  if (options.scale && !(std::abs(*options.scale) <= kLargest)) {
    return value_error(operation, "scale", number_text(*options.scale),
                       "a number from -2e38 to 2e38");
  }
  if (options.softcap &&
      !(*options.softcap >= kSmallestSoftcap && *options.softcap <= kLargest)) {
    return value_error(operation, "softcap", number_text(*options.softcap),
                       "a number from 1e-37 to 2e38");
  }
  return ok();
}

Status check_score_weight(TensorView<const float, 2> score_weight,
                          std::optional<double> scale,
                          const AttentionShape& shape,
                          std::string_view operation) {
  if (score_weight.data() == nullptr) {
    return ok();
  }
  if (scale) {
    return value_error(operation, "scale", number_text(*scale),
                       "none with a score_weight");
  }
  return check_shape(operation, "score_weight", score_weight.extents(),
                     "(Hq, D)", {{shape.Hq, shape.D}});
}

}  // namespace

Result<AttentionSpec> AttentionSpec::create(
    const AttentionShape& tensors, const AttentionOptions& options,
    const OperationOptions& operation_options, std::string_view operation) try {
  if (operation_options.device.kind != Device::Kind::cpu) {
    return value_error(operation, "device", "cuda", "cpu for float32 tensors");
  }
  HEADWISE_TRY(kernels::check_narrow(options.arithmetic == Arithmetic::bf16));
  AttentionShape shape = tensors;
  shape.kv_groups = operation_options.kv_groups;
  HEADWISE_TRY(check_heads(shape, operation_options.statistics, operation));
  if (options.offsets.ragged()) {
    HEADWISE_ASSIGN(shape, ragged_shape(shape, options.offsets, operation));
  }
  HEADWISE_TRY(check_factors(options, operation));
  HEADWISE_TRY(check_score_weight(operation_options.score_weight, options.scale,
                                  shape, operation));
  HEADWISE_TRY(options.query_start.check(shape));
  const CallContext context{shape, options.query_start, operation};
  HEADWISE_ASSIGN(auto bias, BoundBias::bind(options.bias, context));
  HEADWISE_ASSIGN(auto t5_bias, BoundT5Bias::bind(options.t5_bias, context));
  HEADWISE_ASSIGN(auto alibi, BoundAlibi::bind(options.alibi, context));
  HEADWISE_ASSIGN(const auto added_keys,
                  BoundAddedKeys::bind(operation_options.added_keys, context));
  HEADWISE_ASSIGN(auto sinks, BoundSinks::bind(options.sinks, context));
  HEADWISE_ASSIGN(auto mask, BoundMask::bind(options.mask, context, bias));
  HEADWISE_ASSIGN(auto dropout,
                  BoundDropout::bind(options.dropout, context, added_keys));
  HEADWISE_ASSIGN(auto statistics,
                  BoundStatistics::bind(operation_options.statistics, context));
  if (statistics.any() && options.attn_weights == AttnWeights::mean) {
    return value_error(operation, "attn_weights", "mean",
                       "per_head or none with statistics");
  }
  HEADWISE_TRY(check_parts(operation, options, operation_options, mask));
  const bool additive = operation_options.score_weight.data() != nullptr;
  return AttentionSpec{
      shape,
      additive ? 1 : options.scale.value_or(default_scale(shape.D)),
      operation_options.score_weight,
      options.softcap,
      std::move(bias),
      std::move(t5_bias),
      std::move(alibi),
      added_keys,
      sinks,
      std::move(mask),
      std::move(dropout),
      options.empty_rows,
      options.attn_weights,
      options.scores,
      std::move(statistics),
      options.executor ? options.executor : &Executor::default_executor(),
      operation_options.key_part,
      operation_options.query_part,
      options.arithmetic};
} catch (...) {
  return caught_out_of_memory();
}

Status AttentionSpec::set_offsets(const Offsets& offsets) try {
  constexpr std::string_view kOperation = "attention";
  if (!shape.offsets.ragged() || !offsets.ragged()) {
    return value_error(kOperation, "offsets",
                       offsets.ragged() ? "given" : "not given",
                       offsets.ragged() ? "none: the plan's batch is not ragged"
                                        : "those of a ragged batch");
  }
  for (const auto& [name, given] : {std::pair("offsets.query", offsets.query),
                                    std::pair("offsets.key", offsets.key)}) {
    HEADWISE_TRY(check_shape(kOperation, name, given.extents(), "(B + 1)",
                             {{shape.B + 1}}));
  }
  HEADWISE_TRY(offsets.check(static_cast<std::size_t>(offsets.query(shape.B)),
                             static_cast<std::size_t>(offsets.key(shape.B)),
                             kOperation));
  HEADWISE_TRY(check_longest(kOperation, shape, offsets));
  AttentionShape next = shape;
  next.offsets = offsets;
  HEADWISE_TRY(check_keys_of_part(kOperation, key_part, next));
  HEADWISE_TRY(statistics.set_offsets(offsets));
  shape.offsets = offsets;
  t5_bias.set_offsets(offsets);
  alibi.set_offsets(offsets);
  mask.set_offsets(offsets);
  dropout.set_offsets(offsets);
  return ok();
} catch (...) {
  return caught_out_of_memory();
}

Result<AttentionShape> attention_shape(const Extents<4>& query,
                                       const Extents<4>& key,
                                       const Extents<4>& value) try {
  const auto [B, Lq, Hq, D] = query;
  const std::size_t Lkv = key[1];
  const std::size_t Hkv = key[2];
  HEADWISE_TRY(check_shape("attention", "key", key, "(B, Lkv, Hkv, D)",
                           {{B, Lkv, Hkv, D}}));
  const std::size_t Dv = value[3];
  if (value != Extents<4>{B, Lkv, Hkv, Dv}) {
    return value_shape_error(key, value);
  }
  return AttentionShape{B, Hq, Hkv, Lq, Lkv, D, Dv, {}};
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
