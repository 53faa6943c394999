#include "attention/call_tensors.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

using enum Size;

constexpr std::array<Size, 4> kQuery = {batch, queries, query_heads, features};
constexpr std::array<Size, 4> kKey = {batch, keys, key_heads, features};
constexpr std::array<Size, 4> kValue = {batch, keys, key_heads, value_features};
constexpr std::array<Size, 4> kOutput = {batch, queries, query_heads,
                                         value_features};
constexpr std::array<Size, 4> kRow = {batch, query_heads, queries};
constexpr std::array<Size, 4> kRows = {batch, query_heads, queries,
                                       row_numbers};
constexpr std::array<Size, 4> kWeights = {sequences, weight_heads,
                                          longest_queries, pair_columns};
constexpr std::array<Size, 4> kBias = {bias_sequences, bias_heads, bias_queries,
                                       bias_keys};
constexpr std::array<Size, 4> kTop = {batch, query_heads, queries,
                                      Size::top_keys};
constexpr std::array<Size, 4> kMap = {sequences, query_heads, map_rows,
                                      map_columns};
constexpr std::array<Size, 4> kScores = {sequences, query_heads,
                                         longest_queries, pair_columns};
constexpr std::array<Size, 4> kStatisticsRows = {batch, query_heads, queries,
                                                 statistics};
constexpr std::array<Size, 4> kColumns = {batch, query_heads, keys};
constexpr std::array<Size, 4> kHeads = {query_heads};
constexpr std::array<Size, 4> kHeadFeatures = {query_heads, features};
constexpr std::array<Size, 4> kBiasK = {key_heads, features};
constexpr std::array<Size, 4> kBiasV = {key_heads, value_features};
constexpr std::array<Size, 4> kT5Table = {t5_buckets, query_heads};

constexpr std::string_view kQueryAxes = "(B, Lq, Hq, D)";
constexpr std::string_view kKeyAxes = "(B, Lkv, Hkv, D)";
constexpr std::string_view kValueAxes = "(B, Lkv, Hkv, Dv)";
constexpr std::string_view kOutputAxes = "(B, Lq, Hq, Dv)";
constexpr std::string_view kRaggedQuery = "(1, queries, Hq, D)";
constexpr std::string_view kRaggedKey = "(1, keys, Hkv, D)";
constexpr std::string_view kRaggedValue = "(1, keys, Hkv, Dv)";
constexpr std::string_view kRaggedOutput = "(1, queries, Hq, Dv)";
constexpr std::string_view kRowAxes = "(B, Hq, Lq)";
constexpr std::string_view kRaggedRow = "(1, Hq, queries)";
constexpr std::string_view kRowsAxes = "(B, Hq, Lq, 2)";
constexpr std::string_view kRaggedRows = "(1, Hq, queries, 2)";
constexpr std::string_view kWeightsAxes = "(B, Hq, Lq, Lkv)";
constexpr std::string_view kMeanAxes = "(B, 1, Lq, Lkv)";
constexpr std::string_view kBiasAxes = "(B, Hq, Lq, Lkv) or 1 where broadcast";
constexpr std::string_view kBiasKAxes = "(Hkv, D)";
constexpr std::string_view kBiasVAxes = "(Hkv, Dv)";
constexpr std::string_view kTopAxes = "(B, Hq, Lq, top_keys)";
constexpr std::string_view kMapAxes = "(B, Hq, map_size(Lq), map_size(Lkv))";

constexpr auto kSums = ElementType::of_sums;
constexpr auto kFloat = ElementType::float32;
constexpr auto kInt = ElementType::int64;

// In the order of CallTensor.
constexpr std::array<CallTensorRow, kCallTensors> kTable = {{
    {"query", kQueryAxes, kRaggedQuery, kQuery},
    {"key", kKeyAxes, kRaggedKey, kKey},
    {"value", kValueAxes, kRaggedValue, kValue},
    {"output", kOutputAxes, kRaggedOutput, kOutput},
    {"softmax_rows", kRowsAxes, kRaggedRows, kRows, kSums},
    {"d_output", kOutputAxes, kRaggedOutput, kOutput},
    {"d_attn_weights", kWeightsAxes, kMeanAxes, kWeights, kSums,
     Need::if_wanted, Condition::attn_weights},
    {"score_weight", "(Hq, D)", "", kHeadFeatures, kFloat, Need::if_wanted},
    {"bias", kBiasAxes, "", kBias, kFloat, Need::if_wanted},
    {"t5_bias.table", "(buckets, Hq)", "", kT5Table, kFloat, Need::if_wanted},
    {"alibi", "(Hq)", "", kHeads, kFloat, Need::if_wanted},
    {"added_keys.bias_k", kBiasKAxes, "", kBiasK, kFloat, Need::if_wanted},
    {"added_keys.bias_v", kBiasVAxes, "", kBiasV, kFloat, Need::if_wanted},
    {"sinks", "(Hq)", "", kHeads, kFloat, Need::if_wanted},
    {"state.bias", kBiasAxes, "", kBias, kFloat, Need::if_wanted,
     Condition::bias, Parts::none},
    {"output", kOutputAxes, kRaggedOutput, kOutput, ElementType::of_call,
     Need::always, Condition::last_keys},
    {"attn_weights", kWeightsAxes, kMeanAxes, kWeights, kSums, Need::if_asked,
     Condition::attn_weights},
    {"lse", kRowAxes, kRaggedRow, kRow, kSums, Need::if_wanted,
     Condition::last_keys},
    {"softmax_rows", kRowsAxes, kRaggedRows, kRows, kSums, Need::if_wanted,
     Condition::last_keys},
    {"statistics.rows", "(B, Hq, Lq, kStatistics)", "", kStatisticsRows, kFloat,
     Need::if_asked, Condition::rows},
    {"statistics.top_keys", kTopAxes, "", kTop, kInt, Need::if_asked,
     Condition::top_keys},
    {"statistics.top_weights", kTopAxes, "", kTop, kFloat, Need::if_asked,
     Condition::top_keys},
    {"statistics.columns", "(B, Hq, Lkv)", "", kColumns, kFloat, Need::if_asked,
     Condition::columns},
    {"statistics.map_mean", kMapAxes, "", kMap, kFloat, Need::if_asked,
     Condition::map},
    {"statistics.map_largest", kMapAxes, "", kMap, kFloat, Need::if_asked,
     Condition::map},
    {"scores", kWeightsAxes, "", kScores, kSums, Need::if_asked,
     Condition::scores},
    {"state.softmax_rows", kRowsAxes, kRaggedRows, kRows, kFloat,
     Need::if_asked, Condition::key_part},
    {"state.context", kOutputAxes, kRaggedOutput, kOutput, kFloat,
     Need::if_asked, Condition::key_part},
    {"d_query", kQueryAxes, kRaggedQuery, kQuery, ElementType::of_call,
     Need::if_wanted, Condition::none, Parts::last_of_keys},
    {"d_key", kKeyAxes, kRaggedKey, kKey, ElementType::of_call, Need::if_wanted,
     Condition::none, Parts::last_of_queries},
    {"d_value", kValueAxes, kRaggedValue, kValue, ElementType::of_call,
     Need::if_wanted, Condition::none, Parts::last_of_queries},
    {"d_bias", kBiasAxes, "", kBias, kSums, Need::if_wanted, Condition::bias,
     Parts::none},
    {"d_t5_bias", "(buckets, Hq)", "", kT5Table, kSums, Need::if_wanted,
     Condition::t5_bias, Parts::none},
    {"d_alibi", "(Hq)", "", kHeads, kSums, Need::if_wanted, Condition::alibi,
     Parts::last_of_keys},
    {"d_score_weight", "(Hq, D)", "", kHeadFeatures, kSums, Need::if_wanted,
     Condition::score_weight, Parts::none},
    {"d_sinks", "(Hq)", "", kHeads, kSums, Need::if_wanted, Condition::sinks,
     Parts::last_of_keys},
    {"d_bias_k", kBiasKAxes, "", kBiasK, kSums, Need::if_wanted,
     Condition::bias_k, Parts::none},
    {"d_bias_v", kBiasVAxes, "", kBiasV, kSums, Need::if_wanted,
     Condition::bias_k, Parts::none},
    {"state.query", kQueryAxes, kRaggedQuery, kQuery, kFloat, Need::if_asked,
     Condition::key_part},
    {"state.key", kKeyAxes, kRaggedKey, kKey, kFloat, Need::if_asked,
     Condition::query_part},
    {"state.value", kValueAxes, kRaggedValue, kValue, kFloat, Need::if_asked,
     Condition::query_part},
    {"state.alibi", kRowAxes, kRaggedRow, kRow, kFloat, Need::if_wanted,
     Condition::alibi, Parts::of_keys},
    {"state.sinks", kRowAxes, kRaggedRow, kRow, kFloat, Need::if_wanted,
     Condition::sinks, Parts::last_of_keys},
}};

}  // namespace

const CallTensorRow& row_of(CallTensor tensor) {
  return kTable[static_cast<std::size_t>(tensor)];
}

void add_option_tensors(const AttentionSpec& spec, CallTensors& tensors) {
  using enum CallTensor;
  tensors.set(score_weight, spec.score_weight);
  if (const BoundBias& is = spec.bias; is.given()) {
    tensors.set(bias, TensorView<const float, 4>(is.data(), is.extents(),
                                                 is.strides()));
  }
  tensors.set(t5_bias, spec.t5_bias.table());
  tensors.set(alibi, spec.alibi.slopes());
  tensors.set(bias_k, spec.added_keys.bias_k());
  tensors.set(bias_v, spec.added_keys.bias_v());
  tensors.set(sinks, spec.sinks.view());
}

}  // namespace headwise::inline HEADWISE_ABI
