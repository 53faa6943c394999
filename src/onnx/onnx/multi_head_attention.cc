// MultiHeadAttention of ONNX Runtime (com.microsoft).
//
//   inputs   query, key, value, bias, key_padding_mask, attention_bias,
//            past_key, past_value
//   outputs  output, present_key, present_value, qk
//
// query (B, Lq, H * D), key (B, Lkv, H * D) and value (B, Lkv, H * Dv); or key
// and value with heads split, (B, H, Lkv, D), to which no bias is added; or
// packed: key (B, Lkv, H, 2, D) without a value, or query (B, L, H, 3, D)
// without both. qk are the scores with masks and biases.
#include <vector>

#include "onnx/attend.h"
#include "onnx/attention_views.h"
#include "onnx/contrib_inputs.h"
#include "onnx/contrib_mask.h"
#include "onnx/contrib_operators.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

struct MultiHeadIn {
  static constexpr std::size_t query = 0;
  static constexpr std::size_t key = 1;
  static constexpr std::size_t value = 2;
  static constexpr std::size_t bias = 3;
  static constexpr std::size_t padding = 4;
  static constexpr std::size_t attention_bias = 5;
  static constexpr std::size_t past_key = 6;
  static constexpr std::size_t past_value = 7;
  static constexpr std::size_t beyond = 8;
};

// Q, K and V: the input that each is in, and where.
struct HeadsPlace {
  std::size_t input = 0;
  HeadPlaces heads{};
  bool projected = true;  // gets the bias of its projection
};
struct Places {
  AttentionSizes sizes;
  HeadsPlace query;
  HeadsPlace key;
  HeadsPlace value;
};

// The nth of `count` tensors in (B, L, H, count, D).
HeadPlaces packed(const std::vector<std::size_t>& shape, std::size_t n) {
  const std::size_t H = shape[2];
  const std::size_t size = shape[4];
  const std::size_t token = H * shape[3] * size;
  return {.extents = {shape[0], H, shape[1], size},
          .strides = {shape[1] * token, shape[3] * size, token, 1},
          .first = n * size};
}

// (B, H, L, D)
HeadPlaces apart(const std::vector<std::size_t>& shape) {
  return {.extents = {shape[0], shape[1], shape[2], shape[3]},
          .strides = {shape[1] * shape[2] * shape[3], shape[2] * shape[3],
                      shape[3], 1}};
}

// (B, L, heads * size)
Result<HeadPlaces> merged(const NodeCall& node, std::size_t input,
                          std::size_t heads) {
  const auto& shape = node.in(input).shape;
  if (shape[2] % heads != 0) {
    return node.wrong_shape(input, message("features of {} heads", heads));
  }
  return merged_heads(shape[0], shape[1], shape[2], heads, shape[2] / heads);
}

// A packed input has its own axis of heads.
Status check_packed(const NodeCall& node, std::size_t input, std::size_t heads,
                    std::size_t count) {
  const auto& shape = node.in(input).shape;
  if (shape[2] != heads || shape[3] != count) {
    return node.wrong_shape(input, "(B, L, " + std::to_string(heads) + ", " +
                                       std::to_string(count) + ", D)");
  }
  for (const std::size_t other : {MultiHeadIn::key, MultiHeadIn::value}) {
    if (other > input && node.has(other)) {
      return node.input(other).error(ErrorCode::invalid_argument,
                                     "cannot be combined with a packed input",
                                     "only the packed input");
    }
  }
  return ok();
}

Status place_keys(const NodeCall& node, std::size_t heads, Places& places) {
  if (!node.has(MultiHeadIn::key)) {
    return node.wrong_shape(MultiHeadIn::query, "5 axes");
  }
  const auto& key = node.in(MultiHeadIn::key).shape;
  if (key.size() == 5) {
    HEADWISE_TRY(check_packed(node, MultiHeadIn::key, heads, 2));
    places.key = {MultiHeadIn::key, packed(key, 0)};
    places.value = {MultiHeadIn::key, packed(key, 1)};
    return ok();
  }
  if (!node.has(MultiHeadIn::value)) {
    return node.wrong_shape(MultiHeadIn::key, "5 axes");
  }
  if (key.size() != 3 && key.size() != 4) {
    return node.wrong_shape(MultiHeadIn::key, "3 to 5 axes");
  }
  HEADWISE_TRY(check_axes(node, MultiHeadIn::value, key.size()));
  if (key.size() == 4) {
    places.key = {MultiHeadIn::key, apart(key), /*projected=*/false};
    places.value = {MultiHeadIn::value,
                    apart(node.in(MultiHeadIn::value).shape),
                    /*projected=*/false};
    return ok();
  }
  HEADWISE_ASSIGN(const auto key_heads, merged(node, MultiHeadIn::key, heads));
  HEADWISE_ASSIGN(const auto value_heads,
                  merged(node, MultiHeadIn::value, heads));
  places.key = {MultiHeadIn::key, key_heads};
  places.value = {MultiHeadIn::value, value_heads};
  return ok();
}

Result<Places> places_of(const NodeCall& node) {
  HEADWISE_ASSIGN(const auto heads, head_number(node, "num_heads"));
  Places places;
  const auto& query = node.in(MultiHeadIn::query).shape;
  if (query.size() == 5) {
    HEADWISE_TRY(check_packed(node, MultiHeadIn::query, heads, 3));
    places.query = {MultiHeadIn::query, packed(query, 0)};
    places.key = {MultiHeadIn::query, packed(query, 1)};
    places.value = {MultiHeadIn::query, packed(query, 2)};
  } else {
    HEADWISE_TRY(check_axes(node, MultiHeadIn::query, 3));
    HEADWISE_ASSIGN(const auto query_heads,
                    merged(node, MultiHeadIn::query, heads));
    places.query = {MultiHeadIn::query, query_heads};
    HEADWISE_TRY(place_keys(node, heads, places));
  }
  const auto& [B, H, Lq, D] = places.query.heads.extents;
  const auto& keys = places.key.heads.extents;
  const auto& values = places.value.heads.extents;
  if (keys != std::array{B, H, keys[2], D}) {
    return node.wrong_shape(places.key.input,
                            message("keys whose shape matches {}",
                                    node.input_name(MultiHeadIn::query)));
  }
  if (values != std::array{B, H, keys[2], values[3]}) {
    return node.wrong_shape(places.value.input,
                            message("values whose shape matches {}",
                                    node.input_name(places.key.input)));
  }
  places.sizes = {.B = B,
                  .Hq = H,
                  .Hkv = H,
                  .Lq = Lq,
                  .new_keys = keys[2],
                  .D = D,
                  .Dv = values[3],
                  .heads_merged = true};
  HEADWISE_TRY(read_past(node, MultiHeadIn::past_key, MultiHeadIn::past_value,
                         places.sizes));
  return places;
}

// Keys or values with their past.
Result<Array> present(const NodeCall& node, ContribInputs& inputs,
                      const HeadsPlace& place, const float* bias,
                      std::size_t past_input, const AttentionSizes& sizes) {
  HEADWISE_ASSIGN(const auto from, inputs.floats(place.input));
  HEADWISE_ASSIGN(auto made, split_heads(*from, place.heads,
                                         place.projected ? bias : nullptr));
  if (!node.has(past_input)) {
    return made;
  }
  HEADWISE_ASSIGN(const auto past, inputs.floats(past_input));
  return with_past(past, std::vector(sizes.B, sizes.past_keys), made,
                   sizes.Lkv());
}

}  // namespace

Result<Outputs> run_multi_head_attention(const NodeCall& node) {
  HEADWISE_TRY(refuse_inputs_from(node, MultiHeadIn::beyond));
  HEADWISE_ASSIGN(const auto places, places_of(node));
  const AttentionSizes& sizes = places.sizes;
  ContribInputs inputs(node);
  const float* bias = nullptr;
  if (node.has(MultiHeadIn::bias)) {
    HEADWISE_TRY(check_shape_of(node, MultiHeadIn::bias,
                                {sizes.Hq * (2 * sizes.D + sizes.Dv)}));
    HEADWISE_ASSIGN(const auto given, inputs.floats(MultiHeadIn::bias));
    bias = floats(*given);
  }
  const auto bias_from = [&](std::size_t first) {
    return bias == nullptr ? nullptr : bias + first;
  };
  ReadyAttention ready;
  ready.call.sizes = sizes;
  ready.call.query_starts.assign(sizes.B,
                                 static_cast<std::int64_t>(sizes.past_keys));
  HEADWISE_ASSIGN(ready.call.scale, contrib_scale(node, sizes.D));
  ready.call.qk_output = ScoresStage::bias;
  HEADWISE_ASSIGN(ready.mask, contrib_mask(node, inputs,
                                           {.index = MultiHeadIn::padding,
                                            .bias = MultiHeadIn::attention_bias,
                                            .shown = node.wants(3)},
                                           ready.call));
  HEADWISE_ASSIGN(const auto from, inputs.floats(places.query.input));
  HEADWISE_ASSIGN(auto query, merged_query(*from, places.query.heads, bias));
  HEADWISE_ASSIGN(
      auto key, present(node, inputs, places.key, bias_from(sizes.Hq * sizes.D),
                        MultiHeadIn::past_key, sizes));
  HEADWISE_ASSIGN(auto value, present(node, inputs, places.value,
                                      bias_from(2 * sizes.Hq * sizes.D),
                                      MultiHeadIn::past_value, sizes));
  ready.query = &query;
  ready.key = &key;
  ready.value = &value;
  HEADWISE_ASSIGN(auto made, attend(node, ready, node.wants(3)));
  return inputs.all_narrowed({&made.output, &key, &value, &made.scores});
}

}  // namespace headwise::inline HEADWISE_ABI
