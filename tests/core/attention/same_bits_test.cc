// The same bits, however the work is cut.
#include <gtest/gtest.h>

#include <utility>

#include "attention/attention_call.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

TEST(SameBitsTest, OnAnyNumberOfThreads) {
  for (const AttentionShape& shape : kShapes) {
    const Inputs<float> in = random_inputs(shape, 120);
    const EveryMask every_mask(shape, true);
    for (const auto& [name, options, operation_options] :
         every_options(every_mask)) {
      const Outputs<float> want = attend(in, options, operation_options);
      for (const std::size_t threads : {1u, 2u, 3u, 7u}) {
        const Executor executor = Executor::with_threads(threads).value();
        AttentionOptions threaded = options;
        threaded.executor = &executor;
        EXPECT_TRUE(same_bits(attend(in, threaded, operation_options), want))
            << name << ", " << threads << " threads";
      }
    }
  }
}

template <class T, std::size_t Rank>
TensorView<const T, Rank> sequence_of(const Tensor<T, Rank>& tensor,
                                      std::size_t b) {
  Extents<Rank> extents = tensor.extents();
  const std::size_t one = tensor.size() / extents[0];
  extents[0] = 1;
  return {tensor.data() + b * one, extents};
}

TEST(SameBitsTest, OfASequenceAloneAndInItsBatch) {
  const AttentionShape shape = kShapes[1];
  const Inputs<float> in = random_inputs(shape, 130);
  const auto lengths = tensor_of<std::int64_t, 1>({3}, {6, 2, 4});
  const auto starts = tensor_of<std::int64_t, 1>({3}, {0, -3, 2});
  const auto sinks = tensor_of<float, 1>({4}, {0.5f, -3, 2, kMinusInf});
  AttentionOptions options = {
      .mask = causal() & key_lengths(lengths),
      .sinks = sinks,
      .query_start = starts,
      .dropout = {.p = 0.4, .training = true, .seed = Seed{3}}};
  const Outputs<float> batch = attend(in, options);
  for (std::size_t b = 0; b < shape.B; ++b) {
    const auto id =
        tensor_of<std::int64_t, 1>({1}, {static_cast<std::int64_t>(b)});
    options.mask = causal() & key_lengths(sequence_of(lengths, b));
    options.query_start = starts(b);
    options.dropout.sequence_ids = id;
    auto output = filled<float, 4>({1, 9, 4, 3}, 42);
    ASSERT_TRUE(attention(sequence_of(in.query, b), sequence_of(in.key, b),
                          sequence_of(in.value, b), output, options));
    const auto want = sequence_of(batch.output, b);
    EXPECT_TRUE(same_bits(output.elements(), {want.data(), want.size()}));
  }
}

TEST(SameBitsTest, OfAnyRangeOfQueriesUnderSoftcapBiasesAndAlibi) {
  const AttentionShape shape = {
      .B = 1, .Hq = 2, .Hkv = 1, .Lq = 70, .Lkv = 140, .D = 8, .Dv = 8};
  const Inputs<float> in = random_inputs(shape, 180);
  auto bias = uniform<3>({2, 70, 140}, 181, -3, 3);
  for (float& x : bias.elements()) {
    x = x < -2 ? kMinusInf : x;
  }
  const EveryBias every(shape);
  const auto options_from = [&](std::size_t first, std::size_t count) {
    const TensorView<const float, 3> rows(bias.data() + first * 140,
                                          {2, count, 140}, {70 * 140, 140, 1});
    return AttentionOptions{
        .mask = causal(),
        .softcap = 2.0,
        .bias = dense(rows, {Axis::H, Axis::Lq, Axis::Lkv}),
        .t5_bias = every.t5_bias(false),
        .alibi = every.slopes(),
        .query_start = 40 + static_cast<std::int64_t>(first)};
  };
  const Outputs<float> want = attend(in, options_from(0, 70));
  for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{0, 1},
                                     {3, 17},
                                     {16, 48},
                                     {69, 1}}) {
    auto output = filled<float, 4>({1, count, 2, 8}, 42);
    ASSERT_TRUE(attention(
        TensorView<const float, 4>(&in.query(0, first, 0, 0), {1, count, 2, 8}),
        view_of(in.key), view_of(in.value), output,
        options_from(first, count)));
    EXPECT_TRUE(same_bits(output.elements(), {&want.output(0, first, 0, 0),
                                              count * std::size_t{16}}));
  }
}

TEST(SameBitsTest, WithAndWithoutABatchAxis) {
  const AttentionShape shape = {
      .B = 1, .Hq = 4, .Hkv = 2, .Lq = 5, .Lkv = 7, .D = 8, .Dv = 6};
  const Inputs<float> in = random_inputs(shape, 140);
  const auto unbatched = [](const Tensor<float, 4>& tensor) {
    return tensor.clone().value().without_batch();
  };
  auto output = filled<float, 3>({5, 4, 6}, 42);
  ASSERT_TRUE(
      attention(view_of(unbatched(in.query)), view_of(unbatched(in.key)),
                view_of(unbatched(in.value)), output, {.mask = causal()}));
  EXPECT_TRUE(same_bits(output.elements(),
                        attend(in, {.mask = causal()}).output.elements()));
}

TEST(SameBitsTest, InEveryLayout) {
  for (const AttentionShape& shape : kShapes) {
    const Inputs<float> in = random_inputs(shape, 150);
    const Outputs<float> want = attend(in, {.mask = causal()});
    // (B, H, L, D) data, in and out.
    const auto query = copy_of(as_bhld(view_of(in.query)));
    const auto key = copy_of(as_bhld(view_of(in.key)));
    const auto value = copy_of(as_bhld(view_of(in.value)));
    auto output = filled<float, 4>({shape.B, shape.Hq, shape.Lq, shape.Dv}, 42);
    ASSERT_TRUE(attention(as_blhd(view_of(query)), as_blhd(view_of(key)),
                          as_blhd(view_of(value)), as_blhd(output),
                          {.mask = causal()}));
    EXPECT_TRUE(same_bits(copy_of(as_blhd(output)), want.output));
  }
}

TEST(SameBitsTest, OfQueryKeyAndValueInOneTensorWithGapsAndBackwards) {
  const AttentionShape shape = {
      .B = 2, .Hq = 2, .Hkv = 2, .Lq = 5, .Lkv = 5, .D = 4, .Dv = 4};
  const Inputs<float> in = random_inputs(shape, 160);
  const Outputs<float> want = attend(in);
  // (B, L, 3, H, D): packed projections; the tokens stand in reverse.
  auto packed = Tensor<float, 1>::create({2 * 5 * 3 * 2 * 4}).value();
  const auto part = [&](std::size_t p) {
    return TensorView<float, 4>(packed.data() + 4 * 24 + p * 8, {2, 5, 2, 4},
                                {120, -24, 4, 1});
  };
  const auto put = [](const Tensor<float, 4>& from, TensorView<float, 4> to) {
    for (std::size_t b = 0; b < 2; ++b) {
      for (std::size_t l = 0; l < 5; ++l) {
        for (std::size_t h = 0; h < 2; ++h) {
          for (std::size_t d = 0; d < 4; ++d) {
            to(b, l, h, d) = from(b, l, h, d);
          }
        }
      }
    }
  };
  put(in.query, part(0));
  put(in.key, part(1));
  put(in.value, part(2));
  auto output = filled<float, 4>({2, 5, 2, 4}, 42);
  ASSERT_TRUE(attention(part(0), part(1), part(2), output));
  EXPECT_TRUE(same_bits(output, want.output));
}

TEST(SameBitsTest, OfTheOutputWhateverElseIsAskedFor) {
  const Inputs<float> in = random_inputs(kSmall, 170);
  const AttentionOptions plain = {.mask = causal()};
  const Outputs<float> want = attend(in, plain);
  for (const AttnWeights form :
       {AttnWeights::per_head, AttnWeights::mean, AttnWeights::after_dropout}) {
    AttentionOptions options = plain;
    options.attn_weights = form;
    EXPECT_TRUE(same_bits(attend(in, options).output, want.output));
  }
  auto output = filled<float, 4>({2, 5, 4, 6}, 42);
  ASSERT_TRUE(attention(in.query, in.key, in.value, output, plain));
  EXPECT_TRUE(same_bits(output, want.output));
}

}  // namespace
}  // namespace headwise::testing_support
