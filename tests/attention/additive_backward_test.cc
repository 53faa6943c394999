// What the backward pass of additive scoring promises (that its gradients are
// near the reference and have the bits of docs/arithmetic.md:
// backward_test.cc).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "attention/backward_call.h"
#include "headwise/attention/plan.h"

namespace headwise {
namespace {

using testing::Each;
using testing_support::clone;
using testing_support::differentiate;
using testing_support::EveryMask;
using testing_support::filled;
using testing_support::Gradients;
using testing_support::Inputs;
using testing_support::random_inputs;
using testing_support::random_upstream;
using testing_support::same_bits;
using testing_support::tensor_of;
using testing_support::uniform;
using testing_support::Upstream;

// Around a block of keys and blocks of queries, grouped; the hidden layer
// leaves part of a vector empty.
constexpr AttentionShape kFewHeads = {
    .B = 2, .Hq = 2, .Hkv = 1, .Lq = 101, .Lkv = 150, .D = 20, .Dv = 7};
constexpr AttentionShape kManyHeads = {
    .B = 3, .Hq = 16, .Hkv = 8, .Lq = 50, .Lkv = 40, .D = 5, .Dv = 4};

TEST(AdditiveBackwardTest, HasTheSameBitsForAnyNumberOfThreads) {
  for (const AttentionShape& shape : {kFewHeads, kManyHeads}) {
    const Inputs<float> in = random_inputs(shape, 4800);
    const EveryMask every(shape, true);
    AttentionOptions options = {.mask = causal(),
                                .score_weight = every.score_weight(),
                                .softcap = 1.5,
                                .dropout = {.p = 0.2, .training = true}};
    const Upstream<float> upstream = random_upstream(in, options, 4810);
    const auto with_threads = [&](std::size_t threads) {
      const auto executor = Executor::with_threads(threads).value();
      options.executor = &executor;
      return differentiate(in, upstream, options);
    };
    const Gradients<float> one = with_threads(1);
    for (const std::size_t threads : {2u, 3u, 7u, 16u}) {
      EXPECT_TRUE(same_bits(with_threads(threads), one))
          << threads << " threads";
    }
  }
}

// The rows of each sequence that count, behind each other.
Tensor<float, 4> without_padding(const Tensor<float, 4>& padded,
                                 const std::vector<std::int64_t>& lengths) {
  const auto [B, L, H, D] = padded.extents();
  std::vector<float> rows;
  for (std::size_t b = 0; b < B; ++b) {
    const float* first = padded.data() + b * L * H * D;
    rows.insert(rows.end(), first,
                first + static_cast<std::size_t>(lengths[b]) * H * D);
  }
  return tensor_of<float, 4>({1, rows.size() / H / D, H, D}, rows);
}

TEST(AdditiveBackwardTest, OfARaggedBatchHasTheBitsOfThePaddedOne) {
  constexpr AttentionShape shape = {
      .B = 4, .Hq = 4, .Hkv = 2, .Lq = 140, .Lkv = 140, .D = 9, .Dv = 8};
  const std::vector<std::int64_t> numbers = {140, 1, 0, 97};
  const auto lengths = tensor_of<std::int64_t, 1>({4}, numbers);
  const auto offsets = tensor_of<std::int64_t, 1>({5}, {0, 140, 141, 141, 238});
  const Inputs<float> in = random_inputs(shape, 4820);
  const auto score_weight = uniform<2>({shape.Hq, shape.D}, 4825);
  Upstream<float> upstream = random_upstream(in, {}, 4830);
  for (std::size_t b = 0; b < shape.B; ++b) {
    for (auto i = static_cast<std::size_t>(numbers[b]); i < shape.Lq; ++i) {
      std::fill_n(&upstream.d_output(b, i, 0, 0), shape.Hq * shape.Dv, 0.0f);
    }
  }
  const Inputs<float> cut = {without_padding(in.query, numbers),
                             without_padding(in.key, numbers),
                             without_padding(in.value, numbers)};
  const Upstream<float> cut_upstream = {
      without_padding(upstream.d_output, numbers), {}};
  const Gradients<float> padded =
      differentiate(in, upstream,
                    {.mask = causal() & key_lengths(lengths.view()),
                     .score_weight = score_weight.view()});
  const Gradients<float> ragged =
      differentiate(cut, cut_upstream,
                    {.mask = causal(),
                     .score_weight = score_weight.view(),
                     .offsets = offsets.view()});
  EXPECT_TRUE(same_bits(ragged.query, without_padding(padded.query, numbers)));
  EXPECT_TRUE(same_bits(ragged.key, without_padding(padded.key, numbers)));
  EXPECT_TRUE(same_bits(ragged.score_weight, padded.score_weight));
}

TEST(AdditiveBackwardTest, OfASequenceAloneHasTheBitsOfItsBatch) {
  const Inputs<float> in = random_inputs(kFewHeads, 4840);
  const auto score_weight = uniform<2>({kFewHeads.Hq, kFewHeads.D}, 4845);
  const AttentionOptions options = {.mask = causal(),
                                    .score_weight = score_weight.view()};
  const Upstream<float> upstream = random_upstream(in, {}, 4850);
  const Gradients<float> all = differentiate(in, upstream, options);
  const auto second = [](const Tensor<float, 4>& batch) {
    const auto [B, L, H, D] = batch.extents();
    auto one = Tensor<float, 4>::create({1, L, H, D}).value();
    std::copy_n(&batch(1, 0, 0, 0), one.size(), one.data());
    return one;
  };
  const Gradients<float> alone =
      differentiate({second(in.query), second(in.key), second(in.value)},
                    {second(upstream.d_output), {}}, options);
  EXPECT_TRUE(same_bits(alone.query, second(all.query)));
  EXPECT_TRUE(same_bits(alone.key, second(all.key)));
}

// Keys that nobody sees hold NaN.
TEST(AdditiveBackwardTest, MaskedKeysGetZeroAndReachNothing) {
  constexpr AttentionShape shape = {
      .B = 2, .Hq = 4, .Hkv = 2, .Lq = 60, .Lkv = 140, .D = 5, .Dv = 6};
  const Inputs<float> clean = random_inputs(shape, 4860);
  const EveryMask every(shape, true);
  for (const auto& [name, mask] : every.masks()) {
    const AttentionOptions options = {
        .mask = mask, .score_weight = every.score_weight(), .softcap = 2.0};
    const auto spec = AttentionSpec::create(shape, options).value();
    const Upstream<float> upstream = random_upstream(clean, options, 4870);
    Inputs<float> in = clone(clean);
    std::vector<float*> hidden;  // rows of the keys
    for (std::size_t n = 0; n < shape.B * shape.Lkv * shape.Hkv; ++n) {
      const std::size_t b = n / shape.Hkv / shape.Lkv;
      const std::size_t j = n / shape.Hkv % shape.Lkv;
      bool seen = false;
      for (std::size_t at = 0; at < shape.Hq * shape.Lq; ++at) {
        const std::size_t h = at / shape.Lq;
        seen = seen || (shape.kv_head(h) == n % shape.Hkv &&
                        spec.mask.may_attend(b, h, at % shape.Lq, j));
      }
      if (!seen) {
        hidden.push_back(in.key.data() + n * shape.D);
        std::fill_n(hidden.back(), shape.D, kNaN);
        std::fill_n(in.value.data() + n * shape.Dv, shape.Dv, kNaN);
      }
    }
    const Gradients<float> got = differentiate(in, upstream, options);
    EXPECT_TRUE(same_bits(got, differentiate(clean, upstream, options)))
        << name;
    for (const float* row : hidden) {
      const std::ptrdiff_t at = row - in.key.data();
      EXPECT_THAT(std::vector<float>(got.key.data() + at,
                                     got.key.data() + at + shape.D),
                  Each(0.0f))
          << name;
    }
  }
}

// A key or a query that some see holds NaN.
TEST(AdditiveBackwardTest, RowsThatDoNotSeeANaNKeepTheirBits) {
  constexpr AttentionShape shape = {
      .B = 1, .Hq = 1, .Hkv = 1, .Lq = 100, .Lkv = 100, .D = 4, .Dv = 4};
  constexpr std::size_t at = 70;
  const Inputs<float> clean = random_inputs(shape, 4880);
  const auto score_weight = uniform<2>({1, 4}, 4885);
  const AttentionOptions options = {.mask = causal(),
                                    .score_weight = score_weight.view()};
  const Upstream<float> upstream = random_upstream(clean, options, 4890);
  const Gradients<float> want = differentiate(clean, upstream, options);
  Inputs<float> late_key = clone(clean);
  std::fill_n(&late_key.key(0, at, 0, 0), shape.D, kNaN);
  const Gradients<float> early = differentiate(late_key, upstream, options);
  EXPECT_TRUE(
      same_bits({early.query.data(), at * 4}, {want.query.data(), at * 4}));
  Inputs<float> early_query = clone(clean);
  std::fill_n(&early_query.query(0, at, 0, 0), shape.D, kNaN);
  const Gradients<float> late = differentiate(early_query, upstream, options);
  const std::size_t behind = (shape.Lkv - at - 1) * 4;
  EXPECT_TRUE(same_bits({&late.key(0, at + 1, 0, 0), behind},
                        {&want.key(0, at + 1, 0, 0), behind}));
}

TEST(AdditiveBackwardTest, WhereNothingFlowsItIsZero) {
  const Inputs<float> in = random_inputs(kFewHeads, 4900);
  const auto score_weight = uniform<2>({kFewHeads.Hq, kFewHeads.D}, 4905);
  const Upstream<float> upstream = random_upstream(in, {}, 4910);
  Upstream<float> none = {clone(upstream.d_output), {}};
  std::ranges::fill(none.d_output.elements(), 0.0f);
  const auto no_keys = filled<std::int64_t, 1>({2}, 0);
  std::vector<std::pair<const Upstream<float>*, AttentionOptions>> calls = {
      {&none, {}}, {&upstream, {.dropout = {.p = 1, .training = true}}}};
  for (const EmptyRow policy :
       {EmptyRow::zero, EmptyRow::uniform, EmptyRow::nan}) {
    calls.push_back(
        {&upstream,
         {.mask = key_lengths(no_keys.view()), .empty_rows = policy}});
  }
  for (auto& [from, options] : calls) {
    options.score_weight = score_weight.view();
    const Gradients<float> got = differentiate(in, *from, options);
    EXPECT_THAT(got.query.elements(), Each(0.0f));
    EXPECT_THAT(got.key.elements(), Each(0.0f));
    EXPECT_THAT(got.score_weight.elements(), Each(0.0f));
  }
}

TEST(AdditiveBackwardTest, AGradientThatDoesNotFitIsAnError) {
  const Inputs<float> in = random_inputs(kFewHeads, 4920);
  const auto& [B, Hq, Hkv, Lq, Lkv, D, Dv, offsets] = kFewHeads;
  const auto rows = filled<float, 4>({B, Hq, Lq, 2}, 1);
  const auto d_output = filled<float, 4>({B, Lq, Hq, Dv}, 1);
  const auto score_weight = uniform<2>({Hq, D}, 4925);
  auto gradient = filled<float, 2>({Hq, D}, 42);
  const auto message = [&](const TensorView<float, 2>& wanted,
                           const AttentionOptions& options) {
    const Status s =
        attention_backward({in.query.view(), in.key.view(), in.value.view(),
                            d_output.view(), rows.view(), d_output.view()},
                           {.score_weight = wanted}, options);
    EXPECT_THAT(gradient.elements(), Each(42.0f));
    return s ? "no error" : s.error().message;
  };
  EXPECT_EQ(message(gradient.view(), {}),
            "attention_backward: the gradient of score_weight is wanted, "
            "expected none: the options have no score_weight");
  EXPECT_EQ(message({gradient.data(), {Hq, D - 1}},
                    {.score_weight = score_weight.view()}),
            "attention_backward: the gradient of score_weight has shape (2, "
            "19), expected (Hq, D) = (2, 20)");
}

// Nothing of the size Lq x Lkv, let alone times the hidden layer.
TEST(AdditiveBackwardTest, TheForwardPassNeedsNoMoreMemoryThanDotProducts) {
  const Executor executor = Executor::with_threads(1).value();
  const auto score_weight = uniform<2>({1, 64}, 4930);
  const auto bytes = [&](TensorView<const float, 2> w) {
    return AttentionPlan::create({.B = 1,
                                  .Hq = 1,
                                  .Hkv = 1,
                                  .Lq = 65536,
                                  .Lkv = 65536,
                                  .D = 64,
                                  .Dv = 64},
                                 {.score_weight = w, .executor = &executor})
        .value()
        .workspace_bytes();
  };
  EXPECT_LT(bytes(score_weight.view()), bytes({}) + 8192);
}

}  // namespace
}  // namespace headwise
