// GroupQueryAttention of ONNX Runtime (com.microsoft): causal, with a cache.
//
//   inputs   query, key, value, past_key, past_value, seqlens_k,
//            total_sequence_length, cos_cache, sin_cache, position_ids,
//            attention_bias, head_sink
//   outputs  output, present_key, present_value, output_qk
//
// query (B, L, Hq * D), key and value (B, L, Hkv * D); or all three in query,
// (B, L, (Hq + 2 Hkv) * D). Sequence b has seqlens_k[b] + 1 keys, the new ones
// last; if total_sequence_length is L, none of them are from the past.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "onnx/attend.h"
#include "onnx/attention_views.h"
#include "onnx/contrib_inputs.h"
#include "onnx/contrib_mask.h"
#include "onnx/contrib_operators.h"
#include "onnx/numbers.h"
#include "onnx/strided.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

struct GroupQueryIn {
  static constexpr std::size_t query = 0;
  static constexpr std::size_t key = 1;
  static constexpr std::size_t value = 2;
  static constexpr std::size_t past_key = 3;
  static constexpr std::size_t past_value = 4;
  static constexpr std::size_t lengths = 5;
  static constexpr std::size_t total = 6;
  static constexpr std::size_t cosines = 7;
  static constexpr std::size_t sines = 8;
  static constexpr std::size_t positions = 9;
  static constexpr std::size_t attention_bias = 10;
  static constexpr std::size_t sink = 11;
  static constexpr std::size_t beyond = 12;
};

struct GroupCall {
  AttentionSizes sizes;  // Lkv() is total_sequence_length
  bool packed = false;
  bool prompt = false;                    // nothing is read from the past
  std::vector<std::size_t> past_lengths;  // per sequence
  std::size_t cache_rows = 0;             // of present_key
};

Status check_int32(const NodeCall& node, std::size_t input) {
  if (!node.has(input)) {
    return node.subject().bad_data(message("has no input {}", input),
                                   "7 inputs");
  }
  return check_type(node, input, DType::int32);
}

Result<AttentionSizes> group_query_sizes(const NodeCall& node) {
  HEADWISE_ASSIGN(const auto Hq, head_number(node, "num_heads"));
  HEADWISE_ASSIGN(const auto Hkv, head_number(node, "kv_num_heads"));
  if (Hq % Hkv != 0) {
    return node.attribute("num_heads")
        .bad_data(message("is {}", Hq), "a multiple of kv_num_heads");
  }
  HEADWISE_TRY(check_axes(node, GroupQueryIn::query, 3));
  const auto& query = node.in(GroupQueryIn::query).shape;
  const bool packed = !node.has(GroupQueryIn::key);
  HEADWISE_TRY(check_together(node, GroupQueryIn::key, GroupQueryIn::value,
                              "key and value together"));
  // Before the sum, which must not overflow.
  const bool few = Hq <= query[2] && Hkv <= query[2];
  const std::size_t heads = Hq + (packed && few ? 2 * Hkv : 0);
  if (!few || query[2] % heads != 0) {
    return node.wrong_shape(GroupQueryIn::query,
                            message("features of {} heads", heads));
  }
  AttentionSizes sizes{.B = query[0],
                       .Hq = Hq,
                       .Hkv = Hkv,
                       .Lq = query[1],
                       .D = query[2] / heads,
                       .heads_merged = true};
  sizes.Dv = sizes.D;
  for (const std::size_t i : {GroupQueryIn::key, GroupQueryIn::value}) {
    if (!packed) {
      HEADWISE_TRY(
          check_shape_of(node, i, {sizes.B, sizes.Lq, sizes.Hkv * sizes.D}));
    }
  }
  return sizes;
}

// How many keys each sequence has.
Status read_lengths(const NodeCall& node, GroupCall& call) {
  AttentionSizes& sizes = call.sizes;
  HEADWISE_TRY(check_int32(node, GroupQueryIn::lengths));
  HEADWISE_TRY(check_int32(node, GroupQueryIn::total));
  // Exported decoders give it a second axis.
  if (element_count(node.in(GroupQueryIn::lengths).shape) != sizes.B) {
    return node.wrong_shape(GroupQueryIn::lengths,
                            message("{} elements", sizes.B));
  }
  HEADWISE_TRY(check_one_element(node, GroupQueryIn::total));
  AttentionSizes cache = sizes;
  HEADWISE_TRY(
      read_past(node, GroupQueryIn::past_key, GroupQueryIn::past_value, cache));
  const std::size_t past = cache.past_keys;
  const auto Lq = static_cast<std::int64_t>(sizes.Lq);
  const std::int64_t total = integers_of(node.in(GroupQueryIn::total)).front();
  const std::int64_t most = static_cast<std::int64_t>(past) + Lq;
  if (total < Lq || total > most) {
    return node.input(GroupQueryIn::total)
        .error(ErrorCode::out_of_range, message("has {}", total),
               message("{} to {}", Lq, most));
  }
  sizes.new_keys = static_cast<std::size_t>(total);
  call.prompt = total == Lq;
  call.cache_rows = std::max(past, sizes.new_keys);
  for (const std::int64_t number :
       integers_of(node.in(GroupQueryIn::lengths))) {
    const std::int64_t before = call.prompt ? 0 : number + 1 - Lq;
    if (number < 0 || number >= total || before < 0 ||
        before > static_cast<std::int64_t>(past)) {
      return node.input(GroupQueryIn::lengths)
          .error(ErrorCode::out_of_range, message("has {}", number),
                 message("{} to {}", call.prompt ? 0 : Lq - 1, total - 1));
    }
    call.past_lengths.push_back(static_cast<std::size_t>(before));
  }
  return ok();
}

// cos_cache and sin_cache, and the row of each token.
class Rotation {
 public:
  static Result<Rotation> create(const NodeCall& node, ContribInputs& inputs,
                                 const GroupCall& call) {
    Rotation rotation;
    HEADWISE_ASSIGN(const auto wanted, node.flag("do_rotary"));
    HEADWISE_ASSIGN(const auto interleaved, node.flag("rotary_interleaved"));
    if (!wanted) {
      return rotation;
    }
    if (!node.has(GroupQueryIn::cosines) || !node.has(GroupQueryIn::sines)) {
      return node.subject().bad_data(
          message("has no input {}", node.has(GroupQueryIn::cosines)
                                         ? GroupQueryIn::sines
                                         : GroupQueryIn::cosines),
          "cos_cache and sin_cache");
    }
    HEADWISE_TRY(check_axes(node, GroupQueryIn::cosines, 2));
    const auto& shape = node.in(GroupQueryIn::cosines).shape;
    HEADWISE_TRY(check_shape_of(node, GroupQueryIn::sines, shape));
    if (2 * shape[1] > call.sizes.D) {
      return node.wrong_shape(GroupQueryIn::cosines,
                              message("at most {} columns", call.sizes.D / 2));
    }
    HEADWISE_ASSIGN(const auto cosines, inputs.floats(GroupQueryIn::cosines));
    HEADWISE_ASSIGN(const auto sines, inputs.floats(GroupQueryIn::sines));
    rotation.pairs_ = shape[1];
    rotation.interleaved_ = interleaved;
    rotation.cosines_ = floats(*cosines);
    rotation.sines_ = floats(*sines);
    HEADWISE_TRY(rotation.place(node, call, shape[0]));
    return rotation;
  }

  // (B, L, H, D) or (B, H, L, D).
  void turn(Array& array, bool heads_last) const {
    if (pairs_ == 0) {
      return;
    }
    float* row = floats(array);
    const auto& shape = array.shape;
    for (std::size_t n = 0; n < element_count(std::span(shape).first(3)); ++n) {
      const std::size_t b = n / (shape[1] * shape[2]);
      const std::size_t i = heads_last ? n / shape[2] % shape[1] : n % shape[2];
      turn_row(row, rows_[b * (heads_last ? shape[1] : shape[2]) + i]);
      row += shape[3];
    }
  }

 private:
  Status place(const NodeCall& node, const GroupCall& call,
               std::size_t cached) {
    const AttentionSizes& sizes = call.sizes;
    std::vector<std::int64_t> given;
    if (node.has(GroupQueryIn::positions)) {
      HEADWISE_TRY(check_type(node, GroupQueryIn::positions, DType::int64));
      HEADWISE_TRY(
          check_shape_of(node, GroupQueryIn::positions, {sizes.B, sizes.Lq}));
      given = integers_of(node.in(GroupQueryIn::positions));
    }
    for (std::size_t n = 0; n < sizes.B * sizes.Lq; ++n) {
      const std::size_t counted =
          call.past_lengths[n / sizes.Lq] + n % sizes.Lq;
      // A prompt counts on from the first position, which was checked before.
      const std::int64_t at =
          given.empty() ? static_cast<std::int64_t>(counted)
          : !call.prompt || n == 0
              ? given[n]
              : static_cast<std::int64_t>(rows_[0] + counted);
      if (at < 0 || at >= static_cast<std::int64_t>(cached)) {
        return node
            .input(given.empty() ? GroupQueryIn::cosines
                                 : GroupQueryIn::positions)
            .error(ErrorCode::out_of_range, message("has no position {}", at),
                   message("less than {}", cached));
      }
      rows_.push_back(static_cast<std::size_t>(at));
    }
    return ok();
  }

  void turn_row(float* row, std::size_t at) const {
    for (std::size_t p = 0; p < pairs_; ++p) {
      float& x = row[interleaved_ ? 2 * p : p];
      float& y = row[interleaved_ ? 2 * p + 1 : p + pairs_];
      const float c = cosines_[at * pairs_ + p];
      const float s = sines_[at * pairs_ + p];
      const float turned = x * c - y * s;
      y = y * c + x * s;
      x = turned;
    }
  }

  std::size_t pairs_ = 0;
  bool interleaved_ = false;
  const float* cosines_ = nullptr;
  const float* sines_ = nullptr;
  std::vector<std::size_t> rows_;
};

Status read_scores(const NodeCall& node, const GroupCall& group,
                   OnnxAttentionCall& call) {
  call.sizes = group.sizes;
  HEADWISE_ASSIGN(call.scale, contrib_scale(node, group.sizes.D));
  HEADWISE_ASSIGN(const auto softcap, node.number("softcap"));
  if (softcap.value_or(0) != 0) {
    call.softcap = *softcap;
  }
  HEADWISE_ASSIGN(const auto causal, node.flag("causal", true));
  call.causal = causal;
  HEADWISE_ASSIGN(const auto window, node.integer("local_window_size", -1));
  if (window != -1 && (window < 1 || !call.causal)) {
    return node.attribute("local_window_size")
        .bad_data(message("is {}", window),
                  "-1, or the number of keys (causal only)");
  }
  if (window > 0) {
    call.left_window = window - 1;
  }
  const auto lengths = integers_of(node.in(GroupQueryIn::lengths));
  for (std::size_t b = 0; b < group.sizes.B; ++b) {
    call.query_starts.push_back(
        static_cast<std::int64_t>(group.past_lengths[b]));
    call.key_lengths.push_back(lengths[b] + 1);
  }
  call.empty_rows = EmptyRow::nan;
  return ok();
}

Status read_sinks(const NodeCall& node, ContribInputs& inputs,
                  OnnxAttentionCall& call) {
  HEADWISE_ASSIGN(const auto smooth, node.flag("smooth_softmax"));
  if (node.has(GroupQueryIn::sink)) {
    HEADWISE_TRY(check_shape_of(node, GroupQueryIn::sink, {call.sizes.Hq}));
    HEADWISE_ASSIGN(const auto given, inputs.floats(GroupQueryIn::sink));
    const float* numbers = floats(*given);
    call.sinks.assign(numbers, numbers + call.sizes.Hq);
  } else if (smooth) {
    call.sinks.assign(call.sizes.Hq, 0);
  }
  return ok();
}

// The output output_qk, at the stage that an attribute names.
Status read_qk_output(const NodeCall& node, OnnxAttentionCall& call) {
  HEADWISE_ASSIGN(const auto stage, node.integer("qk_output", 0));
  if (stage < 0 || stage > 2 || (stage == 0 && node.wants(3))) {
    return node.attribute("qk_output")
        .bad_data(
            message("is {}", stage),
            "1 (before the softmax) or 2 (after it); 0 only without output_qk");
  }
  call.qk_output = stage == 2 ? ScoresStage::softmax : ScoresStage::bias;
  return ok();
}

Result<std::optional<OnnxAttentionMask>> bias_mask(
    const NodeCall& node, ContribInputs& inputs, const AttentionSizes& sizes) {
  if (!node.has(GroupQueryIn::attention_bias)) {
    return std::optional<OnnxAttentionMask>();
  }
  HEADWISE_TRY(check_attention_bias(node, GroupQueryIn::attention_bias, sizes));
  HEADWISE_ASSIGN(const auto given,
                  inputs.floats(GroupQueryIn::attention_bias));
  OnnxAttentionMask mask;
  std::ranges::copy(given->shape, mask.extents.begin());
  mask.numbers = doubles_of(*given);
  return std::optional(std::move(mask));
}

// ONNX Runtime shows masked scores as 0.
void show_masked_as_zero(Array& scores) {
  const std::size_t count = scores.data.size() / sizeof(float);
  std::replace(floats(scores), floats(scores) + count, kMinusInf, 0.0F);
}

// Padding whose window ends before it: ONNX Runtime gives 0, unlike for a row
// that attention_bias masks.
void clear_rows_beyond_window(const OnnxAttentionCall& call, Array& output) {
  const AttentionSizes& sizes = call.sizes;
  const std::size_t features = sizes.Hq * sizes.Dv;
  float* row = floats(output);
  for (std::size_t n = 0; n < sizes.B * sizes.Lq; ++n, row += features) {
    const std::size_t b = n / sizes.Lq;
    const std::int64_t position =
        call.query_starts[b] + static_cast<std::int64_t>(n % sizes.Lq);
    if (call.left_window &&
        position - *call.left_window >= call.key_lengths[b]) {
      std::fill_n(row, features, 0.0F);
    }
  }
}

}  // namespace

Result<Outputs> run_group_query_attention(const NodeCall& node) {
  HEADWISE_TRY(refuse_inputs_from(node, GroupQueryIn::beyond));
  GroupCall group;
  HEADWISE_ASSIGN(const auto sizes, group_query_sizes(node));
  group.sizes = sizes;
  group.packed = !node.has(GroupQueryIn::key);
  HEADWISE_TRY(read_lengths(node, group));
  ContribInputs inputs(node);
  ReadyAttention ready;
  HEADWISE_TRY(read_scores(node, group, ready.call));
  HEADWISE_TRY(read_sinks(node, inputs, ready.call));
  HEADWISE_TRY(read_qk_output(node, ready.call));
  HEADWISE_ASSIGN(ready.mask, bias_mask(node, inputs, group.sizes));
  HEADWISE_ASSIGN(const auto rotation, Rotation::create(node, inputs, group));
  const auto places = [&](std::size_t input, std::size_t heads,
                          std::size_t first) {
    return merged_heads(sizes.B, sizes.Lq, node.in(input).shape[2], heads,
                        sizes.D, group.packed ? first * sizes.D : 0);
  };
  const auto new_heads = [&](std::size_t input,
                             std::size_t first) -> Result<Array> {
    const std::size_t from = group.packed ? GroupQueryIn::query : input;
    HEADWISE_ASSIGN(const auto given, inputs.floats(from));
    return split_heads(*given, places(from, sizes.Hkv, first), nullptr);
  };
  HEADWISE_ASSIGN(const auto given, inputs.floats(GroupQueryIn::query));
  HEADWISE_ASSIGN(
      auto query,
      merged_query(*given, places(GroupQueryIn::query, sizes.Hq, 0), nullptr));
  rotation.turn(query, /*heads_last=*/true);
  HEADWISE_ASSIGN(auto new_key, new_heads(GroupQueryIn::key, sizes.Hq));
  rotation.turn(new_key, /*heads_last=*/false);
  HEADWISE_ASSIGN(auto new_value,
                  new_heads(GroupQueryIn::value, sizes.Hq + sizes.Hkv));
  const auto present = [&](std::size_t past_input, const Array& made,
                           std::size_t rows) -> Result<Array> {
    HEADWISE_ASSIGN(const auto past, inputs.floats_if_given(past_input));
    return with_past(past, group.past_lengths, made, rows);
  };
  const std::size_t total = group.sizes.Lkv();
  HEADWISE_ASSIGN(auto key, present(GroupQueryIn::past_key, new_key, total));
  HEADWISE_ASSIGN(auto value,
                  present(GroupQueryIn::past_value, new_value, total));
  ready.query = &query;
  ready.key = &key;
  ready.value = &value;
  HEADWISE_ASSIGN(auto made, attend(node, ready, node.wants(3)));
  show_masked_as_zero(made.scores);
  clear_rows_beyond_window(ready.call, made.output);
  if (group.cache_rows > total) {
    HEADWISE_ASSIGN(key,
                    present(GroupQueryIn::past_key, new_key, group.cache_rows));
    HEADWISE_ASSIGN(
        value, present(GroupQueryIn::past_value, new_value, group.cache_rows));
  }
  return inputs.all_narrowed({&made.output, &key, &value, &made.scores});
}

}  // namespace headwise::inline HEADWISE_ABI
