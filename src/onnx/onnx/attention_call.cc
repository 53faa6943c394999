#include "onnx/attention_call.h"

#include <array>
#include <cmath>
#include <string>

#include "base/check.h"
#include "onnx/numbers.h"
#include "onnx/tensor_data.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using CallIn = AttentionInput;

// The attribute is for inputs whose heads are merged; where they have an axis
// of their own it may only say the same, and from opset 25 on nothing.
Result<std::size_t> head_count(const NodeCall& node, std::string_view name,
                               std::size_t input, bool merged) {
  HEADWISE_ASSIGN(const auto given, node.integer(name, 0));
  const bool present = node.find(name) != nullptr;
  const auto& shape = node.in(input).shape;
  if (!merged) {
    if (present &&
        (node.opset() >= 25 || given != static_cast<std::int64_t>(shape[1]))) {
      return node.attribute(name).bad_data(
          message("is {}", given),
          "no number of heads where the inputs have an axis of heads");
    }
    return shape[1];
  }
  if (given < 1 || shape[2] % static_cast<std::size_t>(given) != 0) {
    return node.attribute(name).bad_data(
        present ? message("is {}", given) : "is left out",
        message("a divisor of the {} features of {}", shape[2],
                node.input_name(input)));
  }
  return static_cast<std::size_t>(given);
}

Status check_types(const NodeCall& node) {
  for (const std::size_t i : {CallIn::query, CallIn::key, CallIn::value}) {
    HEADWISE_TRY(check_floating(node, i));
  }
  const auto same = [&node](std::size_t i, std::size_t as) -> Status {
    if (node.has(i) && node.in(i).dtype != node.in(as).dtype) {
      return wrong_type(node, i,
                        message("{}, as {}", name_of(node.in(as).dtype),
                                node.input_name(as)));
    }
    return ok();
  };
  HEADWISE_TRY(same(CallIn::key, CallIn::query));
  HEADWISE_TRY(same(CallIn::past_key, CallIn::key));
  return same(CallIn::past_value, CallIn::value);
}

Result<AttentionSizes> call_sizes(const NodeCall& node) {
  const auto& query = node.in(CallIn::query).shape;
  const auto& key = node.in(CallIn::key).shape;
  const auto& value = node.in(CallIn::value).shape;
  if (query.size() != 3 && query.size() != 4) {
    return node.wrong_shape(CallIn::query, "3 or 4 axes");
  }
  for (const std::size_t i : {CallIn::key, CallIn::value}) {
    HEADWISE_TRY(check_axes(node, i, query.size()));
  }
  const bool merged = query.size() == 3;
  HEADWISE_ASSIGN(const auto Hq,
                  head_count(node, "q_num_heads", CallIn::query, merged));
  HEADWISE_ASSIGN(const auto Hkv,
                  head_count(node, "kv_num_heads", CallIn::key, merged));
  AttentionSizes sizes{.B = query[0],
                       .Hq = Hq,
                       .Hkv = Hkv,
                       .Lq = merged ? query[1] : query[2],
                       .new_keys = merged ? key[1] : key[2],
                       .D = merged ? query[2] / Hq : query[3],
                       .heads_merged = merged};
  if (merged) {
    if (value[2] % Hkv != 0) {
      return node.wrong_shape(CallIn::value,
                              message("features of {} heads", Hkv));
    }
    sizes.Dv = value[2] / Hkv;
    HEADWISE_TRY(check_shape_of(
        node, CallIn::key, {sizes.B, sizes.new_keys, sizes.Hkv * sizes.D}));
    HEADWISE_TRY(check_shape_of(
        node, CallIn::value, {sizes.B, sizes.new_keys, sizes.Hkv * sizes.Dv}));
  } else {
    sizes.Dv = value[3];
    HEADWISE_TRY(check_shape_of(node, CallIn::key,
                                {sizes.B, sizes.Hkv, sizes.new_keys, sizes.D}));
    HEADWISE_TRY(check_shape_of(
        node, CallIn::value, {sizes.B, sizes.Hkv, sizes.new_keys, sizes.Dv}));
  }
  if (sizes.Hkv == 0 || sizes.Hq % sizes.Hkv != 0) {
    return node.wrong_shape(
        CallIn::query, message("a multiple of the {} heads of {}", sizes.Hkv,
                               node.input_name(CallIn::key)));
  }
  if (node.has(CallIn::past_key) && node.has(CallIn::past_value) &&
      node.has(CallIn::lengths)) {
    return node.input(CallIn::lengths)
        .error(ErrorCode::invalid_argument, "is given next to past_key",
               "nonpad_kv_seqlen or a past, not both");
  }
  HEADWISE_TRY(read_past(node, CallIn::past_key, CallIn::past_value, sizes));
  return sizes;
}

Result<std::optional<std::int64_t>> window_side(const NodeCall& node,
                                                std::string_view name) {
  HEADWISE_ASSIGN(const auto keys, node.integer(name, -1));
  if (node.find(name) != nullptr && node.opset() < 25) {
    return node.attribute(name).error(
        ErrorCode::unsupported, message("is given in opset {}", node.opset()),
        "opset 25 for a window");
  }
  if (keys < -1) {
    return node.attribute(name).bad_data(message("is {}", keys),
                                         "-1 or a number of keys");
  }
  return keys < 0 ? std::optional<std::int64_t>() : std::optional(keys);
}

Result<std::optional<double>> nonnegative(const NodeCall& node,
                                          std::string_view name) {
  HEADWISE_ASSIGN(const auto given, node.number(name));
  if (given && !(*given >= 0 && std::isfinite(*given))) {
    return node.attribute(name).bad_data(message("is {}", number_text(*given)),
                                         "a number of at least 0");
  }
  return given;
}

Status read_scale(const NodeCall& node, OnnxAttentionCall& call) {
  HEADWISE_ASSIGN(const auto scale, nonnegative(node, "scale"));
  call.scale = scale.value_or(1 / std::sqrt(static_cast<double>(call.sizes.D)));
  HEADWISE_ASSIGN(const auto softcap, nonnegative(node, "softcap"));
  if (softcap && *softcap > 0) {
    call.softcap = *softcap;
  }
  return ok();
}

Status read_types(const NodeCall& node, OnnxAttentionCall& call) {
  call.type = node.in(CallIn::query).dtype;
  call.softmax_type = call.type;
  HEADWISE_ASSIGN(const auto precision, node.integer("softmax_precision", 0));
  if (node.find("softmax_precision") != nullptr) {
    const auto type = dtype_of_onnx(precision);
    if (!type || !is_floating(*type)) {
      return node.attribute("softmax_precision")
          .bad_data(message("is {}", precision),
                    "1 (float32), 10 (float16), 11 (float64) or 16 "
                    "(bfloat16)");
    }
    call.softmax_type = *type;
  }
  HEADWISE_ASSIGN(const auto mode, node.integer("qk_matmul_output_mode", 0));
  if (mode < 0 || mode > 3) {
    return node.attribute("qk_matmul_output_mode")
        .bad_data(message("is {}", mode), "0 to 3");
  }
  constexpr std::array kStages = {ScoresStage::raw, ScoresStage::softcap,
                                  ScoresStage::bias, ScoresStage::softmax};
  call.qk_output = kStages[static_cast<std::size_t>(mode)];
  return ok();
}

// Where the queries are among the keys: behind the past, or at the end of the
// keys that nonpad_kv_seqlen counts.
Status read_positions(const NodeCall& node, OnnxAttentionCall& call) {
  const AttentionSizes& sizes = call.sizes;
  call.query_starts.assign(sizes.B, static_cast<std::int64_t>(sizes.past_keys));
  if (!node.has(CallIn::lengths)) {
    return ok();
  }
  if (node.opset() < 24) {
    return node.input(CallIn::lengths)
        .error(ErrorCode::unsupported,
               message("is given in opset {}", node.opset()),
               "opset 24 for nonpad_kv_seqlen");
  }
  HEADWISE_TRY(check_type(node, CallIn::lengths, DType::int64));
  HEADWISE_TRY(check_shape_of(node, CallIn::lengths, {sizes.B}));
  call.key_lengths = integers_of(node.in(CallIn::lengths));
  for (std::size_t b = 0; b < sizes.B; ++b) {
    const std::int64_t length = call.key_lengths[b];
    if (length < 0 || length > static_cast<std::int64_t>(sizes.Lkv())) {
      return node.input(CallIn::lengths)
          .error(ErrorCode::out_of_range, message("has {}", length),
                 message("0 to {}", sizes.Lkv()));
    }
    call.query_starts[b] = length - static_cast<std::int64_t>(sizes.Lq);
  }
  return ok();
}

}  // namespace

Status read_past(const NodeCall& node, std::size_t past_key,
                 std::size_t past_value, AttentionSizes& sizes) {
  HEADWISE_TRY(check_together(node, past_key, past_value,
                              "past_key and past_value together"));
  if (!node.has(past_key)) {
    return ok();
  }
  HEADWISE_TRY(check_axes(node, past_key, 4));
  sizes.past_keys = node.in(past_key).shape[2];
  HEADWISE_TRY(check_shape_of(node, past_key,
                              {sizes.B, sizes.Hkv, sizes.past_keys, sizes.D}));
  return check_shape_of(node, past_value,
                        {sizes.B, sizes.Hkv, sizes.past_keys, sizes.Dv});
}

Result<OnnxAttentionCall> OnnxAttentionCall::create(const NodeCall& node) {
  HEADWISE_TRY(check_types(node));
  OnnxAttentionCall call;
  HEADWISE_ASSIGN(call.sizes, call_sizes(node));
  HEADWISE_TRY(read_scale(node, call));
  HEADWISE_TRY(read_types(node, call));
  HEADWISE_ASSIGN(call.causal, node.flag("is_causal"));
  HEADWISE_ASSIGN(const auto left, window_side(node, "left_window_size"));
  HEADWISE_ASSIGN(const auto right, window_side(node, "right_window_size"));
  call.left_window = left;
  call.right_window = right;
  HEADWISE_TRY(read_positions(node, call));
  return call;
}

}  // namespace headwise::inline HEADWISE_ABI
