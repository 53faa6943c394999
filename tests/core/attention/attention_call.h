// Calls of attention for tests: inputs, outputs, one mask of each kind.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "attention/every_bias.h"
#include "headwise/attention/forward.h"
#include "headwise/attention/reference.h"
#include "headwise/attention/stepwise.h"
#include "support/tensors.h"

namespace headwise::testing_support {

template <class T>
struct Inputs {
  Tensor<T, 4> query;  // (B, Lq, Hq, D)
  Tensor<T, 4> key;    // (B, Lkv, Hkv, D)
  Tensor<T, 4> value;  // (B, Lkv, Hkv, Dv)
};

inline Inputs<float> random_inputs(const AttentionShape& s,
                                   std::uint32_t stream, double range = 2) {
  return {uniform<4>({s.B, s.Lq, s.Hq, s.D}, stream, -range, range),
          uniform<4>({s.B, s.Lkv, s.Hkv, s.D}, stream + 1, -range, range),
          uniform<4>({s.B, s.Lkv, s.Hkv, s.Dv}, stream + 2, -range, range)};
}
inline Inputs<float> clone(const Inputs<float>& in) {
  return {clone(in.query), clone(in.key), clone(in.value)};
}
inline Inputs<double> widened(const Inputs<float>& in) {
  return {widened(in.query), widened(in.key), widened(in.value)};
}

template <class T>
struct Outputs {
  Tensor<T, 4> output;
  Tensor<T, 4> attn_weights;
  Tensor<T, 3> lse;
  Tensor<T, 4> scores{};

  AttentionOutputsOf<T> views() {
    return {.output = output.view(),
            .attn_weights = attn_weights.view(),
            .lse = lse.view(),
            .scores = scores.view()};
  }
};

inline std::size_t count_of(const AddedKeys& added) {
  return (added.bias_k.data() != nullptr ? 1U : 0U) +
         (added.zero_attn ? 1U : 0U);
}

// Filled with 42, so that a test sees which elements were never written.
template <class T>
Outputs<T> outputs_for(const Inputs<T>& in, AttnWeights form,
                       ScoresStage stage = ScoresStage::none,
                       std::size_t added_keys = 0) {
  const auto [B, Lq, Hq, D] = in.query.extents();
  const std::size_t heads = form == AttnWeights::none   ? 0
                            : form == AttnWeights::mean ? 1
                                                        : Hq;
  const std::size_t columns = in.key.extent(1) + added_keys;
  return {filled<T, 4>({B, Lq, Hq, in.value.extent(3)}, T{42}),
          filled<T, 4>({B, heads, Lq, columns}, T{42}),
          filled<T, 3>({B, Hq, Lq}, T{42}),
          filled<T, 4>({B, stage == ScoresStage::none ? 0 : Hq, Lq, columns},
                       T{42})};
}
template <class T>
Outputs<T> outputs_for(const Inputs<T>& in, const AttentionOptions& options,
                       const OperationOptions& operation_options = {}) {
  return outputs_for(in, options.attn_weights, options.scores,
                     count_of(operation_options.added_keys));
}

inline Outputs<float> attend(const Inputs<float>& in,
                             const AttentionOptions& options = {},
                             const OperationOptions& operation_options = {}) {
  auto out = outputs_for(in, options, operation_options);
  const Status s = attention(in.query.view(), in.key.view(), in.value.view(),
                             out.views(), options, operation_options);
  EXPECT_TRUE(s) << s.error().message();
  return out;
}

template <class T>
Outputs<T> reference(const Inputs<T>& in, const AttentionOptions& options = {},
                     const OperationOptions& operation_options = {}) {
  auto out = outputs_for(in, options, operation_options);
  const Status s =
      reference_attention<T>(in.query.view(), in.key.view(), in.value.view(),
                             out.views(), options, operation_options);
  EXPECT_TRUE(s) << s.error().message();
  return out;
}

inline AttentionSteps stepwise(const Inputs<float>& in,
                               const AttentionOptions& options = {},
                               const OperationOptions& operation_options = {},
                               TraceSink* trace = nullptr) {
  return stepwise_attention(in.query.view(), in.key.view(), in.value.view(),
                            options, operation_options, trace)
      .value();
}

// One mask of each kind for calls of these sizes, and some together, with the
// tensors that they look at. No tensor alone leaves a row without a key unless
// `with_empty_rows`.
class EveryMask {
 public:
  explicit EveryMask(const AttentionShape& s, bool with_empty_rows = false)
      : lengths_(Tensor<std::int64_t, 1>::create({s.B}).value()),
        long_lengths_(Tensor<std::int64_t, 1>::create({s.B}).value()),
        row_lengths_(Tensor<std::int64_t, 2>::create({s.B, s.Lq}).value()),
        starts_(Tensor<std::int64_t, 1>::create({s.B}).value()),
        query_ids_(Tensor<std::int64_t, 2>::create({s.B, s.Lq}).value()),
        key_ids_(Tensor<std::int64_t, 2>::create({s.B, s.Lkv}).value()),
        padding_(coin_tosses<2>({s.B, s.Lkv}, 901, 0.7)),
        square_(coin_tosses<2>({s.Lq, s.Lkv}, 902, 0.6)),
        full_(coin_tosses<4>({s.B, s.Hq, s.Lq, s.Lkv}, 903, 0.6)),
        score_weight_(uniform<2>({s.Hq, s.D}, 904)),
        biases_(s) {
    const std::size_t shortest = with_empty_rows ? 0 : 1;
    for (std::size_t b = 0; b < s.B; ++b) {
      lengths_(b) = length(b * 3 + shortest, s, shortest);
      long_lengths_(b) = static_cast<std::int64_t>(s.Lkv - s.Lkv / (4 + b));
      for (std::size_t i = 0; i < s.Lq; ++i) {
        row_lengths_(b, i) = length(b * 5 + i * 2 + shortest, s, shortest);
      }
      starts_(b) = static_cast<std::int64_t>(
          std::min((b + 1) * s.Lkv / 4 + b, s.Lkv - std::min(s.Lkv, shortest)));
      // The keys are cut into documents of unequal lengths, the queries evenly;
      // the last quarter of each document's queries may find no key.
      const std::size_t documents = std::min<std::size_t>(3 + b, s.Lkv);
      for (std::size_t j = 0; j < s.Lkv; ++j) {
        const std::size_t fifth = j / std::max<std::size_t>(s.Lkv / 5, 1);
        key_ids_(b, j) =
            static_cast<std::int64_t>(2 * std::min(fifth + 1, documents));
      }
      for (std::size_t i = 0; i < s.Lq; ++i) {
        const std::size_t quarter = i * documents * 4 / s.Lq;
        query_ids_(b, i) = static_cast<std::int64_t>(
            2 * (quarter / 4 + 1) +
            (with_empty_rows && quarter % 4 == 3 ? 1 : 0));
      }
    }
    if (with_empty_rows) {
      return;
    }
    for (Tensor<bool, 2>* rows : {&padding_, &square_}) {
      for (std::size_t r = 0; r < rows->extent(0) && s.Lkv > 0; ++r) {
        (*rows)(r, 0) = true;
      }
    }
    for (std::size_t row = 0; row < s.B * s.Hq * s.Lq && s.Lkv > 0; ++row) {
      full_.data()[row * s.Lkv] = true;
    }
  }

  // "all" has as many rules as a mask may have, or one fewer.
  std::vector<std::pair<std::string, Mask>> masks(
      bool room_for_one = false) const {
    const Mask square = dense(view_of(square_), {Axis::Lq, Axis::Lkv});
    const Mask full =
        dense(view_of(full_), {Axis::B, Axis::H, Axis::Lq, Axis::Lkv});
    const Mask lengths = key_lengths(lengths_.view());
    const Mask padding = key_padding(padding_.view());
    const Mask documents =
        headwise::documents(query_ids_.view(), key_ids_.view());
    const Mask most = causal() & key_lengths(row_lengths_.view()) & padding &
                      square & full & window(60, 3) & documents;
    return {{"none", Mask()},
            {"causal", causal()},
            {"key_lengths (B)", lengths},
            {"key_lengths (B, Lq)", key_lengths(row_lengths_.view())},
            {"key_padding", padding},
            {"dense (Lq, Lkv)", square},
            {"dense (B, H, Lq, Lkv)", full},
            {"window (2, 1)", window(2, 1)},
            {"window (40, 0)", window(40, 0)},
            {"window (5, none)", window(5, std::nullopt)},
            {"window (none, 7)", window(std::nullopt, 7)},
            {"key_starts", key_starts(starts_.view())},
            {"documents", documents},
            {"causal & key_lengths", causal() & lengths},
            {"causal & key_starts", causal() & key_starts(starts_.view())},
            {"causal & documents", causal() & documents},
            {"all",
             room_for_one ? most : most & key_lengths(long_lengths_.view())}};
  }
  const EveryBias& biases() const { return biases_; }
  TensorView<const float, 2> score_weight() const {
    return score_weight_.view();
  }

 private:
  static std::int64_t length(std::size_t wish, const AttentionShape& s,
                             std::size_t shortest) {
    return static_cast<std::int64_t>(
        s.Lkv == 0 ? 0 : std::max(shortest, wish % (s.Lkv + 1)));
  }

  Tensor<std::int64_t, 1> lengths_;
  Tensor<std::int64_t, 1> long_lengths_;  // of most keys
  Tensor<std::int64_t, 2> row_lengths_;
  Tensor<std::int64_t, 1> starts_;
  Tensor<std::int64_t, 2> query_ids_;
  Tensor<std::int64_t, 2> key_ids_;
  Tensor<bool, 2> padding_;
  Tensor<bool, 2> square_;
  Tensor<bool, 4> full_;
  Tensor<float, 2> score_weight_;
  EveryBias biases_;
};

// Small and large, square and not, around one block of keys, grouped heads.
inline const std::vector<AttentionShape> kShapes = {
    {.B = 2, .Hq = 3, .Hkv = 3, .Lq = 5, .Lkv = 7, .D = 8, .Dv = 8},
    {.B = 3, .Hq = 4, .Hkv = 2, .Lq = 9, .Lkv = 6, .D = 5, .Dv = 3},
    {.B = 2, .Hq = 3, .Hkv = 1, .Lq = 2, .Lkv = 300, .D = 16, .Dv = 20},
    {.B = 1, .Hq = 2, .Hkv = 2, .Lq = 130, .Lkv = 129, .D = 4, .Dv = 4},
    {.B = 1, .Hq = 1, .Hkv = 1, .Lq = 1, .Lkv = 1, .D = 1, .Dv = 1}};

inline HeadGroups groups_of(std::initializer_list<std::size_t> sizes) {
  return HeadGroups::create({sizes.begin(), sizes.size()}).value();
}

inline const AttentionShape kSmall = {
    .B = 2, .Hq = 4, .Hkv = 2, .Lq = 5, .Lkv = 7, .D = 8, .Dv = 6};

// Options of every kind for calls of these sizes.
struct OptionsCase {
  std::string name;
  AttentionOptions options;
  OperationOptions operation_options{};
};

// Softcap, biases and ALiBi, one by one and together.
inline std::vector<OptionsCase> every_score_term(const EveryBias& every,
                                                 const Mask& mask) {
  std::vector<OptionsCase> cases = {
      {"softcap", {.softcap = 1.5}},
      {"t5_bias", {.scale = 1.0, .t5_bias = every.t5_bias(true)}},
      {"t5_bias, one direction, causal",
       {.mask = causal(), .t5_bias = every.t5_bias(false), .query_start = 30}},
      {"alibi", {.alibi = every.slopes(), .query_start = -3}},
      {"softcap and finite bias", {.softcap = 2.0, .bias = every.finite()}},
      {"bias and alibi, bottom right",
       {.bias = every.finite(),
        .alibi = every.slopes(),
        .query_start = QueryStart::bottom_right()}}};
  for (const auto& [name, bias] : every.biases()) {
    cases.push_back({"bias " + name, {.bias = bias}});
    cases.push_back({"all terms, causal, bias " + name,
                     {.mask = causal(),
                      .softcap = 0.9,
                      .bias = bias,
                      .alibi = every.slopes(),
                      .query_start = 2}});
  }
  for (const EmptyRow empty_rows :
       {EmptyRow::zero, EmptyRow::uniform, EmptyRow::nan}) {
    cases.push_back({"all terms and masks",
                     {.mask = mask,
                      .softcap = 1.1,
                      .bias = every.biases().front().second,
                      .t5_bias = every.t5_bias(true),
                      .alibi = every.slopes(),
                      .query_start = -20,
                      .empty_rows = empty_rows,
                      .dropout = {.p = 0.2, .training = true}}});
  }
  return cases;
}

// Sinks alone, with everything else between scores and weights, and with rows
// that have no key.
inline std::vector<OptionsCase> every_sink_option(const EveryBias& every,
                                                  const Mask& mask) {
  std::vector<OptionsCase> cases = {{"sinks", {.sinks = every.sinks()}},
                                    {"sinks, all terms, causal",
                                     {.mask = causal(),
                                      .softcap = 0.9,
                                      .bias = every.finite(),
                                      .alibi = every.slopes(),
                                      .sinks = every.sinks()}},
                                    {"sinks, mean",
                                     {.mask = mask,
                                      .sinks = every.sinks(),
                                      .attn_weights = AttnWeights::mean}}};
  for (const EmptyRow empty_rows :
       {EmptyRow::zero, EmptyRow::uniform, EmptyRow::nan}) {
    cases.push_back({"sinks and empty rows",
                     {.mask = mask,
                      .sinks = every.sinks(),
                      .empty_rows = empty_rows,
                      .dropout = {.p = 0.2, .training = true},
                      .attn_weights = AttnWeights::after_dropout}});
  }
  return cases;
}

// Added keys alone, of each kind, and with everything between scores and
// weights.
inline std::vector<OptionsCase> every_added_option(const EveryBias& every,
                                                   const Mask& mask) {
  const OperationOptions both = {.added_keys = every.added_keys(true)};
  std::vector<OptionsCase> cases = {
      {"bias_kv", {}, {.added_keys = every.added_keys(false)}},
      {"zero_attn, causal",
       {.mask = causal(), .query_start = -1},
       {.added_keys = {.zero_attn = true}}},
      {"added keys, all terms",
       {.mask = causal(),
        .softcap = 0.9,
        .bias = every.finite(),
        .t5_bias = every.t5_bias(true),
        .alibi = every.slopes(),
        .sinks = every.sinks()},
       both},
      {"added keys, mean",
       {.mask = mask, .attn_weights = AttnWeights::mean},
       both}};
  for (const EmptyRow empty_rows :
       {EmptyRow::zero, EmptyRow::uniform, EmptyRow::nan}) {
    cases.push_back({"added keys and empty rows",
                     {.mask = mask,
                      .empty_rows = empty_rows,
                      .dropout = {.p = 0.4, .training = true},
                      .attn_weights = AttnWeights::after_dropout},
                     both});
  }
  return cases;
}

// Additive scoring alone and with everything that may stand beside it.
inline std::vector<OptionsCase> every_additive_option(
    const EveryMask& every_mask, const Mask& mask) {
  const EveryBias& every = every_mask.biases();
  const OperationOptions additive = {.score_weight = every_mask.score_weight()};
  const OperationOptions added = {.score_weight = every_mask.score_weight(),
                                  .added_keys = every.added_keys(true)};
  std::vector<OptionsCase> cases = {
      {"additive", {}, additive},
      {"additive, causal", {.mask = causal(), .query_start = 1}, additive},
      {"additive, softcap", {.softcap = 0.7}, additive},
      {"additive, added keys", {.mask = causal(), .softcap = 0.8}, added},
      {"additive, mean",
       {.mask = mask, .attn_weights = AttnWeights::mean},
       additive},
      {"additive, dropout",
       {.mask = mask,
        .dropout = {.p = 0.3, .training = true, .seed = Seed{9}},
        .attn_weights = AttnWeights::after_dropout},
       additive}};
  for (const EmptyRow empty_rows :
       {EmptyRow::zero, EmptyRow::uniform, EmptyRow::nan}) {
    cases.push_back({"additive, all terms and masks",
                     {.mask = mask,
                      .softcap = 1.1,
                      .bias = every.biases().front().second,
                      .t5_bias = every.t5_bias(false),
                      .alibi = every.slopes(),
                      .empty_rows = empty_rows,
                      .dropout = {.p = 0.2, .training = true}},
                     additive});
  }
  return cases;
}

// `room_for_one`: as for EveryMask::masks().
inline std::vector<OptionsCase> every_options(const EveryMask& every_mask,
                                              bool room_for_one = false) {
  std::vector<OptionsCase> cases;
  for (const auto& [name, mask] : every_mask.masks(room_for_one)) {
    cases.push_back({"mask " + name, {.mask = mask, .query_start = 1}});
  }
  const Mask all = cases.back().options.mask;
  cases.push_back({"scale", {.scale = 1.7}});
  cases.push_back(
      {"bottom right",
       {.mask = causal(), .query_start = QueryStart::bottom_right()}});
  for (const EmptyRow empty_rows : {EmptyRow::uniform, EmptyRow::nan}) {
    cases.push_back(
        {"empty rows",
         {.mask = all, .query_start = -2, .empty_rows = empty_rows}});
  }
  cases.push_back({"dropout",
                   {.mask = all,
                    .dropout = {.p = 0.3, .training = true, .seed = Seed{9}},
                    .attn_weights = AttnWeights::after_dropout}});
  cases.push_back({"mean", {.mask = all, .attn_weights = AttnWeights::mean}});
  std::ranges::move(every_score_term(every_mask.biases(), all),
                    std::back_inserter(cases));
  std::ranges::move(every_sink_option(every_mask.biases(), all),
                    std::back_inserter(cases));
  std::ranges::move(every_added_option(every_mask.biases(), all),
                    std::back_inserter(cases));
  std::ranges::move(every_additive_option(every_mask, all),
                    std::back_inserter(cases));
  constexpr std::array kStages = {ScoresStage::none, ScoresStage::raw,
                                  ScoresStage::softcap, ScoresStage::bias,
                                  ScoresStage::softmax};
  for (std::size_t n = 0; n < cases.size(); ++n) {
    AttentionOptions& options = cases[n].options;
    options.scores = kStages[n % kStages.size()];
    if (options.attn_weights == AttnWeights::none) {
      options.attn_weights = AttnWeights::per_head;
    }
  }
  return cases;
}

inline testing::AssertionResult same_bits(const Outputs<float>& got,
                                          const Outputs<float>& want) {
  if (auto r = same_bits(got.output, want.output); !r) {
    return r << " of output";
  }
  if (auto r = same_bits(got.attn_weights, want.attn_weights); !r) {
    return r << " of attn_weights";
  }
  if (auto r = same_bits(got.scores, want.scores); !r) {
    return r << " of scores";
  }
  return same_bits(got.lse, want.lse) << " of lse";
}

}  // namespace headwise::testing_support
