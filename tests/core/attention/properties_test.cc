// What holds for attention whatever the numbers are.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "attention/attention_call.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

// Sizes around one block of keys and well inside it.
AttentionShape any_shape() {
  const auto any = [](std::size_t low, std::size_t high) {
    return *rc::gen::inRange<std::size_t>(low, high + 1);
  };
  const std::size_t Hkv = any(1, 3);
  const std::size_t Lkv = *rc::gen::weightedOneOf<std::size_t>(
      {{4, rc::gen::inRange<std::size_t>(1, 20)},
       {1, rc::gen::inRange<std::size_t>(126, 131)},
       {1, rc::gen::inRange<std::size_t>(254, 259)}});
  return {.B = any(1, 3),
          .Hq = Hkv * any(1, 3),
          .Hkv = Hkv,
          .Lq = any(1, 6),
          .Lkv = Lkv,
          .D = any(1, 9),
          .Dv = any(1, 9)};
}

Inputs<float> any_inputs(const AttentionShape& shape) {
  return random_inputs(shape, *rc::gen::inRange<std::uint32_t>(0, 60000));
}

// The result with the axis' indices taken from `order`, (B, L, H, D).
Tensor<float, 4> picked(const Tensor<float, 4>& tensor, std::size_t axis,
                        const std::vector<std::size_t>& order) {
  Extents<4> extents = tensor.extents();
  extents[axis] = order.size();
  auto result = Tensor<float, 4>::create(extents).value();
  Extents<4> at{};
  for (at[0] = 0; at[0] < extents[0]; ++at[0]) {
    for (at[1] = 0; at[1] < extents[1]; ++at[1]) {
      for (at[2] = 0; at[2] < extents[2]; ++at[2]) {
        for (at[3] = 0; at[3] < extents[3]; ++at[3]) {
          Extents<4> from = at;
          from[axis] = order[at[axis]];
          result(at[0], at[1], at[2], at[3]) =
              tensor(from[0], from[1], from[2], from[3]);
        }
      }
    }
  }
  return result;
}

std::vector<std::size_t> indices(std::size_t begin, std::size_t end) {
  std::vector<std::size_t> all(end - begin);
  std::iota(all.begin(), all.end(), begin);
  return all;
}

RC_GTEST_PROP(AttentionPropertyTest, EveryRowOfWeightsSumsToOne, ()) {
  const AttentionShape shape = any_shape();
  const Outputs<float> out =
      attend(any_inputs(shape), {.attn_weights = AttnWeights::per_head});
  for (std::size_t row = 0; row < shape.B * shape.Hq * shape.Lq; ++row) {
    const float* weights = out.attn_weights.data() + row * shape.Lkv;
    const double sum = std::accumulate(weights, weights + shape.Lkv, 0.0);
    RC_ASSERT(std::abs(sum - 1) < 2e-6);
  }
}

RC_GTEST_PROP(AttentionPropertyTest,
              KeysMovedTogetherWithTheirValuesChangeNothing, ()) {
  const AttentionShape shape = any_shape();
  const Inputs<float> in = any_inputs(shape);
  std::vector<std::size_t> order = indices(0, shape.Lkv);
  const auto turn = *rc::gen::inRange<std::size_t>(0, shape.Lkv);
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(turn),
              order.end());
  if (*rc::gen::arbitrary<bool>()) {
    std::reverse(order.begin(), order.end());
  }
  const Outputs<float> moved =
      attend({in.query.clone().value(), picked(in.key, 1, order),
              picked(in.value, 1, order)});
  const Outputs<float> want = attend(in);
  RC_ASSERT(bool(all_near(moved.output, want.output, 1e-5)));
  RC_ASSERT(bool(all_near(moved.lse, want.lse, 1e-5)));
}

RC_GTEST_PROP(AttentionPropertyTest, MaskingTheLastKeysIsRemovingThemBitForBit,
              ()) {
  const AttentionShape shape = any_shape();
  const Inputs<float> in = any_inputs(shape);
  const auto keep = *rc::gen::inRange<std::size_t>(1, shape.Lkv + 1);
  const auto lengths =
      filled<std::int64_t, 1>({shape.B}, static_cast<std::int64_t>(keep));
  const Outputs<float> masked = attend(in, {.mask = key_lengths(lengths)});
  const Outputs<float> removed =
      attend({in.query.clone().value(), picked(in.key, 1, indices(0, keep)),
              picked(in.value, 1, indices(0, keep))});
  RC_ASSERT(bool(same_bits(masked.output, removed.output)));
  RC_ASSERT(bool(same_bits(masked.lse, removed.lse)));
}

RC_GTEST_PROP(AttentionPropertyTest, MaskingTheFirstKeysIsRemovingThem, ()) {
  const AttentionShape shape = any_shape();
  const Inputs<float> in = any_inputs(shape);
  const auto first = *rc::gen::inRange<std::size_t>(0, shape.Lkv);
  const auto starts =
      filled<std::int64_t, 1>({shape.B}, static_cast<std::int64_t>(first));
  const auto left = indices(first, shape.Lkv);
  const Outputs<float> masked = attend(in, {.mask = key_starts(starts)});
  const Outputs<float> removed =
      attend({in.query.clone().value(), picked(in.key, 1, left),
              picked(in.value, 1, left)});
  RC_ASSERT(bool(same_bits(masked.output, removed.output)));
  RC_ASSERT(bool(same_bits(masked.lse, removed.lse)));
}

// Sorted ids of few documents, (B, L).
Tensor<std::int64_t, 2> any_documents(std::size_t B, std::size_t L) {
  auto ids = Tensor<std::int64_t, 2>::create({B, L}).value();
  for (std::size_t b = 0; b < B; ++b) {
    auto row = *rc::gen::container<std::vector<std::int64_t>>(
        L, rc::gen::inRange<std::int64_t>(-2, 3));
    std::ranges::sort(row);
    std::ranges::copy(row, ids.data() + b * L);
  }
  return ids;
}

RC_GTEST_PROP(AttentionPropertyTest,
              AWindowOfDocumentsHasTheBitsOfItsPairsGivenOneByOne, ()) {
  const AttentionShape shape = any_shape();
  const Inputs<float> in = any_inputs(shape);
  const auto side = rc::gen::oneOf(
      rc::gen::just(std::optional<std::int64_t>()),
      rc::gen::map(rc::gen::inRange<std::int64_t>(0, 140),
                   [](std::int64_t n) { return std::optional(n); }));
  const auto query_ids = any_documents(shape.B, shape.Lq);
  const auto key_ids = any_documents(shape.B, shape.Lkv);
  AttentionOptions options = {.query_start = *rc::gen::inRange<std::int64_t>(
                                  -5, static_cast<std::int64_t>(shape.Lkv) + 5),
                              .attn_weights = AttnWeights::per_head};
  if (*rc::gen::arbitrary<bool>()) {
    options.mask = options.mask & window(*side, *side);
  }
  if (*rc::gen::arbitrary<bool>()) {
    options.mask = options.mask & documents(query_ids, key_ids);
  }
  const Outputs<float> got = attend(in, options);
  const auto bound =
      BoundMask::bind(options.mask, {shape, options.query_start, "test"})
          .value();
  auto pairs = Tensor<bool, 3>::create({shape.B, shape.Lq, shape.Lkv}).value();
  for (std::size_t b = 0; b < shape.B; ++b) {
    for (std::size_t i = 0; i < shape.Lq; ++i) {
      for (std::size_t j = 0; j < shape.Lkv; ++j) {
        pairs(b, i, j) = bound.may_attend(b, 0, i, j);
      }
    }
  }
  options.mask = dense(view_of(pairs), {Axis::B, Axis::Lq, Axis::Lkv});
  RC_ASSERT(bool(same_bits(got, attend(in, options))));
}

RC_GTEST_PROP(AttentionPropertyTest, AHeadHasTheSameBitsAloneAndAmongOthers,
              ()) {
  const AttentionShape shape = any_shape();
  const Inputs<float> in = any_inputs(shape);
  const auto h = *rc::gen::inRange<std::size_t>(0, shape.Hq);
  const std::size_t g = h / (shape.Hq / shape.Hkv);
  const Outputs<float> alone =
      attend({picked(in.query, 2, {h}), picked(in.key, 2, {g}),
              picked(in.value, 2, {g})});
  RC_ASSERT(bool(same_bits(alone.output, picked(attend(in).output, 2, {h}))));
}

RC_GTEST_PROP(AttentionPropertyTest,
              ASequenceHasTheSameBitsAloneAndInAnyPlaceOfABatch, ()) {
  const AttentionShape shape = any_shape();
  const Inputs<float> in = any_inputs(shape);
  const auto order = *rc::gen::container<std::vector<std::size_t>>(
      rc::gen::inRange<std::size_t>(0, shape.B));
  const Outputs<float> mixed =
      attend({picked(in.query, 0, order), picked(in.key, 0, order),
              picked(in.value, 0, order)});
  RC_ASSERT(bool(same_bits(mixed.output, picked(attend(in).output, 0, order))));
}

RC_GTEST_PROP(AttentionPropertyTest, AQueryHasTheSameBitsAloneAndInAnyChunk,
              ()) {
  const AttentionShape shape = any_shape();
  const Inputs<float> in = any_inputs(shape);
  const auto begin = *rc::gen::inRange<std::size_t>(0, shape.Lq);
  const auto end = *rc::gen::inRange<std::size_t>(begin + 1, shape.Lq + 1);
  const auto start = *rc::gen::inRange<std::int64_t>(
      -2, static_cast<std::int64_t>(shape.Lkv) + 2);
  const auto rows = indices(begin, end);
  AttentionOptions options = {
      .mask = causal(),
      .query_start = start,
      .dropout = {.p = 0.3, .training = *rc::gen::arbitrary<bool>()}};
  const Outputs<float> whole = attend(in, options);
  options.query_start = start + static_cast<std::int64_t>(begin);
  const Outputs<float> chunk =
      attend({picked(in.query, 1, rows), in.key.clone().value(),
              in.value.clone().value()},
             options);
  RC_ASSERT(bool(same_bits(chunk.output, picked(whole.output, 1, rows))));
}

RC_GTEST_PROP(AttentionPropertyTest,
              GroupedHeadsAreTheSameAsKeysRepeatedForEachHead, ()) {
  const AttentionShape shape = any_shape();
  const Inputs<float> in = any_inputs(shape);
  std::vector<std::size_t> repeated;
  for (std::size_t h = 0; h < shape.Hq; ++h) {
    repeated.push_back(h / (shape.Hq / shape.Hkv));
  }
  const AttentionOptions options = {.attn_weights = AttnWeights::per_head};
  const Outputs<float> grouped = attend(in, options);
  const Outputs<float> full =
      attend({in.query.clone().value(), picked(in.key, 2, repeated),
              picked(in.value, 2, repeated)},
             options);
  RC_ASSERT(bool(same_bits(grouped.output, full.output)));
  RC_ASSERT(bool(same_bits(grouped.attn_weights, full.attn_weights)));
  RC_ASSERT(bool(same_bits(grouped.lse, full.lse)));
}

RC_GTEST_PROP(AttentionPropertyTest, TheOutputLiesBetweenTheValues, ()) {
  const AttentionShape shape = any_shape();
  const Inputs<float> in = any_inputs(shape);
  const Outputs<float> out = attend(in);
  for (std::size_t b = 0; b < shape.B; ++b) {
    for (std::size_t h = 0; h < shape.Hq; ++h) {
      for (std::size_t d = 0; d < shape.Dv; ++d) {
        float low = 3;
        float high = -3;
        for (std::size_t j = 0; j < shape.Lkv; ++j) {
          low = std::min(low, in.value(b, j, shape.kv_head(h), d));
          high = std::max(high, in.value(b, j, shape.kv_head(h), d));
        }
        for (std::size_t i = 0; i < shape.Lq; ++i) {
          RC_ASSERT(out.output(b, i, h, d) > low - 1e-5f);
          RC_ASSERT(out.output(b, i, h, d) < high + 1e-5f);
        }
      }
    }
  }
}

}  // namespace
}  // namespace headwise::testing_support
